"""The gate of the journal: no record is folded that ingest has not written, as far as that can be seen."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence

from ..errors import UsageError
from ..journal.entries import Entry
from ..journal.forged_records import ForgedRecords, omission, refusal
from ..journal.lines import read_entries
from ..records import Publisher, Record, TopicPartition
from ..topics import Topics
from .line_sources import Fault, LineSources

log = logging.getLogger(__name__)


class JournalGate:
    """Refuses forged records, and leaves out those of ``skipped``, by partition and offset, that were refused.

    ``width`` is the number of partitions of the journal, ``wait_until_valid`` returns while the worker may write.
    """

    width = 1

    def __init__(
        self,
        topics: Topics,
        publisher: Publisher,
        clock_ms: Callable[[], int],
        wait_until_valid: Callable[[], Awaitable[None]],
        skipped: Collection[tuple[int, int]] = (),
    ) -> None:
        self._publisher = publisher
        self._clock_ms = clock_ms
        self._wait_until_valid = wait_until_valid
        self._skipped = skipped
        self._sources = LineSources(topics, publisher)

    async def open(self, journal: TopicPartition, begin: int, end: int) -> ForgedRecords:
        """What the journal says of forged records, read from ``begin`` to ``end``; say there what is to be skipped.

        Raise ``UsageError`` where that is a record that nobody has refused or would now.
        """
        forged = await self._read(journal, begin, end)
        for offset in sorted(offset for partition, offset in self._skipped if partition == journal.partition):
            if offset < begin or forged.leaves_out(offset):
                continue  # the flag of an earlier start
            if offset not in forged.refused:
                await self._refuse(journal, offset, await self._fault_at(journal, offset), forged)
            await self._wait_until_valid()
            await self._publisher.publish(list(omission(journal, offset, self.width, self._clock_ms())))
            forged.leave_out(offset)
            extra = {"partition": journal.partition, "offset": offset, "why": forged.refused[offset]}
            log.warning("a forged record of the journal is left out", extra=extra)
        return forged

    async def check(
        self,
        record: Record,
        entries: Sequence[Entry],
        forged: ForgedRecords,
        check_input: Callable[[TopicPartition], Awaitable[None]],
    ) -> None:
        """Raise ``LedgerError`` where a record is forged, and say so in the journal.

        One that this process has appended is not. ``check_input`` raises the error where an input partition was made
        again: it then ends before what was read from it.
        """
        journal, offset = TopicPartition(record.topic, record.partition), record.offset
        if offset not in forged.refused:
            fault = None if record.lines is not None else await self._sources.fault(entries)
            if fault is None:
                return
            if fault.source is not None:
                await check_input(fault.source)
            await self._refuse(journal, offset, fault, forged)
        forged.check(journal, offset)

    async def _refuse(self, journal: TopicPartition, offset: int, fault: Fault, forged: ForgedRecords) -> None:
        await self._wait_until_valid()
        await self._publisher.publish(list(refusal(journal, offset, fault.why, self.width, self._clock_ms())))
        forged.refuse(offset, fault.why)

    async def _fault_at(self, journal: TopicPartition, offset: int) -> Fault:
        record = (await self._publisher.records_at({journal: {offset}})).get((*journal, offset))
        fault = None if record is None else await self._sources.fault(read_entries(record))
        if fault is None:
            raise UsageError(
                f"--skip {journal.partition}:{offset}: no worker has refused that record of topic {journal.topic}, "
                "and only such a one can be left out: take the flag away"
            )
        return fault

    async def _read(self, journal: TopicPartition, begin: int, end: int) -> ForgedRecords:
        forged, count = ForgedRecords(), end - begin
        while count > 0:
            seen = await self._publisher.tail(*journal, forged.see, count)
            if len(seen) < count or seen[0] <= begin:
                break
            # Others have appended records since.
            count += seen[0] - begin
        return forged
