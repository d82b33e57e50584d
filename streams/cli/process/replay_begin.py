"""Where the replay of a journal partition begins that was cut: at a ledger, with one program's part of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ....schemas.headers import format_time
from ...archive.store import Archive
from ...errors import JournalCutError, LedgerError, UsageError
from ...kafka.admin.offsets import PartitionOffsets
from ...ledger.one_program import drop_other_programs
from ...programs.program import Program
from ...records import Record, TopicPartition
from ...replay.spec_history import LedgerSpecs, specs_of_ledger
from ...topics import Topics
from .kept_journal import KeptJournal
from .kept_ledgers import KeptLedger, fetch_first_good, kept_checkpoints, kept_snapshots


class ReplayBegin(NamedTuple):
    """The journal offset at which a replay begins, and what its ledger knows of the program's specs."""

    offset: int
    specs: LedgerSpecs


class LedgerSources(NamedTuple):
    """Where ledgers are: an address of snapshots, and an archive."""

    snapshots: str | None
    archive: Archive | None

    def kept(self, span: PartitionOffsets) -> list[KeptLedger]:
        """The ledgers of a journal partition that stand in what is kept of it, oldest first; raise ``UsageError``."""
        journal, kept = TopicPartition(span.topic, span.partition), list[KeptLedger]()
        if self.archive is not None:
            kept += kept_checkpoints(self.archive, journal)
        if self.snapshots is not None:
            kept += kept_snapshots(self.snapshots, journal)
        return sorted(
            (ledger for ledger in kept if span.begin <= ledger.offset <= span.end), key=lambda ledger: ledger.offset
        )


class CutPartition(NamedTuple):
    """A journal partition whose beginning is gone: where its replay begins, and the time of the first record there."""

    partition: int
    offset: int
    time: str | None


class ReplayedJournal:
    """Partitions of a kept journal from where their replay begins. ``partitions`` are those offsets."""

    def __init__(
        self, journal: KeptJournal, partitions: Iterable[PartitionOffsets], begins: Mapping[int, ReplayBegin]
    ) -> None:
        self._journal, self._begins = journal, begins
        self._first_ms: dict[int, int] = {}
        self.partitions = [
            span._replace(begin=begins[span.partition].offset) if span.partition in begins else span
            for span in partitions
        ]

    def records(self, on_read: Callable[[int], None]) -> Iterator[Record]:
        """Its records; ``on_read`` is called with the count of each read."""
        for record in self._journal.records(self.partitions, on_read):
            self._first_ms.setdefault(record.partition, record.timestamp_ms)
            yield record

    @property
    def cut(self) -> list[CutPartition]:
        """The partitions that do not begin at their beginning, with the times as far as records were read."""
        times = {partition: format_time(time_ms) for partition, time_ms in self._first_ms.items()}
        return [CutPartition(number, begin.offset, times.get(number)) for number, begin in self._begins.items()]


def replay_begins(
    sources: LedgerSources, partitions: Iterable[PartitionOffsets], given: Program, topics: Topics, folder: Path
) -> Mapping[int, ReplayBegin]:
    """Where to begin with the partitions whose beginning is gone, by partition; the others begin at their beginning.

    That is the oldest good ledger, so that most is replayed. It is left as ``PARTITION.sqlite``, without other
    programs. ``given`` is the program as its file says. Raise ``JournalCutError`` without a good one, ``UsageError``
    where the program cannot be the one that the ledger was written with.
    """
    begins: dict[int, ReplayBegin] = {}
    for span in partitions:
        if not span.begin:
            continue
        ledger = folder / f"{span.partition}.sqlite"
        kept = fetch_first_good(sources.kept(span), ledger)
        if kept is None:
            raise _cut(span, sources)
        drop_other_programs(ledger, given.name)
        journal = TopicPartition(span.topic, span.partition)
        try:
            specs = specs_of_ledger(ledger, journal, given, topics)
        except LedgerError as error:
            raise UsageError(str(error).replace(f"ledger {ledger}", kept.name)) from error
        begins[span.partition] = ReplayBegin(kept.offset, specs)
    return begins


def _cut(span: PartitionOffsets, sources: LedgerSources) -> JournalCutError:
    where = "" if sources.archive is None else " on the topic and in what can be read of the archive"
    tried = sources.snapshots is not None or sources.archive is not None
    return JournalCutError(
        f"{span.topic} partition {span.partition} is kept from offset {span.begin} on{where}, and no good ledger "
        f"stands there: give {'other ' if tried else ''}--snapshots or --archive, if workers have them"
    )
