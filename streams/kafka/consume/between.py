"""Reads partitions between two offsets each, for programs that block: the commands.

    for record in records_between(options, partition_offsets(options, topics), progress.add): ...

It reads as the worker does: what a stranger has sent takes bounded memory, and hides no other record. A batch that
unpacks to more than the limit comes as one record with ``unread``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import aiokafka
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError

from ...errors import BrokerError
from ...records import Record, TopicPartition
from ..admin.offsets import PartitionOffsets
from ..admin.rights import may_not
from ..closing import close
from ..options import KafkaOptions
from ..patience import Patience
from .read_budget import ReadBudget
from .tail import STOP_SECONDS, new_consumer

T = TypeVar("T")
_POLL_MS = 200


def records_between(
    options: KafkaOptions,
    offsets: Iterable[PartitionOffsets],
    on_read: Callable[[int], None],
    *,
    every_header: bool = False,
) -> Iterator[Record]:
    """The records of partitions from ``begin`` to ``end``; ``on_read`` is called with the count of each read.

    A record of which a header's name is not UTF-8 has no headers, as for the worker; with ``every_header`` it has all,
    and the name's other bytes are escaped. Raise ``BrokerError`` on failure, and when the broker returns nothing for
    the time of one request. Not to be called where an event loop runs.
    """
    ends = {TopicPartition(span.topic, span.partition): span.end for span in offsets if span.end > span.begin}
    begins = {(span.topic, span.partition): span.begin for span in offsets}
    if not ends:
        return
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        reading = _Reading(options, ends, every_header)
        try:
            runner.run(reading.start({partition: begins[partition] for partition in ends}))
            while reading.is_unfinished:
                records = runner.run(reading.more())
                on_read(len(records))
                yield from records
        finally:
            runner.run(reading.stop())


class _Reading:
    """The reading of partitions up to these ends."""

    def __init__(self, options: KafkaOptions, ends: Mapping[TopicPartition, int], every_header: bool) -> None:
        self._options, self._budget = options, ReadBudget(options.max_batch_bytes, every_header)
        self._left = {aiokafka.TopicPartition(*partition): end for partition, end in ends.items()}
        self._source = ", ".join(sorted({partition.topic for partition in ends}))
        self._consumer: Any = None

    @property
    def is_unfinished(self) -> bool:
        """Whether a partition has not been read to its end."""
        return bool(self._left)

    async def start(self, begins: Mapping[TopicPartition, int]) -> None:
        """Connect, and go to where each partition is to be read from."""
        self._consumer = new_consumer(self._options, self._budget)
        await self._answered(self._consumer.start())
        self._consumer.assign(list(self._left))
        for tp in self._left:
            self._consumer.seek(tp, begins[TopicPartition(tp.topic, tp.partition)])

    async def stop(self) -> None:
        """Disconnect."""
        if self._consumer is not None:
            await close(self._consumer._client, self._consumer.stop(), STOP_SECONDS)

    async def more(self) -> list[Record]:
        """The next records; none where only what is no record was passed."""
        return await self._answered(self._more())

    async def _more(self) -> list[Record]:
        while True:
            self._budget.renew()
            fetched = await self._consumer.getmany(*self._left, timeout_ms=_POLL_MS)
            records = [record for tp, batch in fetched.items() for record in batch if record.offset < self._left[tp]]
            ended = [tp for tp, end in self._left.items() if await self._consumer.position(tp) >= end]
            for tp in ended:
                del self._left[tp]
            # They are not to be fetched any further.
            self._consumer.pause(*ended)
            if records or ended:
                return records

    async def _answered(self, work: Awaitable[T]) -> T:
        try:
            async with Patience(self._options.request_timeout_ms / 1000):
                return await work
        except TopicAuthorizationFailedError as error:
            raise may_not(self._options, "READ", f"topic {error.args[0]}") from error
        except (KafkaError, TimeoutError) as error:
            raise BrokerError(f"{self._source} cannot be read: {str(error) or type(error).__name__}") from error
