"""Reads the last records of a partition, across the gaps of transactions, compaction and deletion."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Set
from typing import Any, TypeVar

import aiokafka
from aiokafka.errors import KafkaError

from ...errors import BrokerError
from ...records import Record, TopicPartition, record_bytes
from ..closing import close
from ..options import KafkaOptions
from ..patience import Patience
from .read_budget import ReadBudget
from .tolerant_records import read_tolerantly

T = TypeVar("T")

_CLOSE = 20
"""Offsets between two records that are read in one go."""
_POLL_MS = 200
STOP_SECONDS = 3.0


async def tail(options: KafkaOptions, partition: TopicPartition, see: Callable[[Record], T], count: int) -> list[T]:
    """``see`` of each of the last ``count`` records, in offset order; fewer when there are fewer.

    It looks back ``count`` offsets, and doubles that until enough records are found or the beginning is reached, so
    ``see`` may be called with older records too. Only the records of one fetch are in memory. Raise ``BrokerError`` on
    failure, and when the broker returns nothing for the time of one request.
    """
    tp = aiokafka.TopicPartition(*partition)
    budget = ReadBudget(options.max_batch_bytes)
    source = _named(partition)
    async with _consumer(options, source, budget) as (consumer, patience):
        consumer.assign([tp])
        start = end = (await consumer.end_offsets([tp]))[tp]
        first = (await consumer.beginning_offsets([tp]))[tp]
        seen: list[T] = []
        back = count
        while len(seen) < count and start > first:
            stop, start = start, max(first, end - back)
            seen = [*await _read_range(consumer, budget, tp, start, stop, see, patience), *seen]
            back *= 2
        return seen[-count:]


async def records_at(
    options: KafkaOptions, wanted: Mapping[TopicPartition, Set[int]]
) -> dict[tuple[str, int, int], Record]:
    """The records at these offsets, as far as they are there; raise ``BrokerError`` on failure."""
    found: dict[tuple[str, int, int], Record] = {}
    if not wanted:
        return found
    budget = ReadBudget(options.max_batch_bytes)
    async with _consumer(options, ", ".join(sorted({place.topic for place in wanted})), budget) as (consumer, patience):
        for partition, offsets in wanted.items():
            tp = aiokafka.TopicPartition(*partition)
            consumer.assign([tp])
            first = (await consumer.beginning_offsets([tp]))[tp]
            end = (await consumer.end_offsets([tp]))[tp]

            def see(record: Record, offsets: Set[int] = offsets) -> None:
                if record.offset in offsets:
                    found[record.topic, record.partition, record.offset] = record

            for start, stop in _ranges(offset for offset in offsets if first <= offset < end):
                await _read_range(consumer, budget, tp, start, stop, see, patience)
    return found


def _ranges(offsets: Iterable[int]) -> list[tuple[int, int]]:
    """Ranges that hold these offsets: what lies close together is read together."""
    ranges: list[tuple[int, int]] = []
    for offset in sorted(offsets):
        if ranges and offset - ranges[-1][1] < _CLOSE:
            ranges[-1] = ranges[-1][0], offset + 1
        else:
            ranges.append((offset, offset + 1))
    return ranges


async def records_from(
    options: KafkaOptions, partition: TopicPartition, begin: int, end: int, most_bytes: int
) -> tuple[list[Record], int]:
    """The records from ``begin`` to below ``end``, and the offset up to which these are all.

    It ends early with the record that reaches ``most_bytes``. Raise ``BrokerError`` on failure, and where the partition
    begins later or ends earlier.
    """
    tp = aiokafka.TopicPartition(*partition)
    budget = ReadBudget(options.max_batch_bytes)
    kept: list[Record] = []
    async with _consumer(options, _named(partition), budget) as (consumer, patience):
        consumer.assign([tp])
        there = (await consumer.beginning_offsets([tp]))[tp], (await consumer.end_offsets([tp]))[tp]
        if not there[0] <= begin <= end <= there[1]:
            raise BrokerError(f"{_named(partition)} holds offsets {there[0]} to {there[1]}, not {begin} to {end}")
        size = 0
        consumer.seek(tp, begin)
        async with contextlib.aclosing(_ahead(consumer, budget, tp, begin, end, patience)) as ahead:
            async for record in ahead:
                kept.append(record)
                size += record_bytes(record)
                if size >= most_bytes:
                    return kept, record.offset + 1
    return kept, end


async def _ahead(
    consumer: Any, budget: ReadBudget, tp: aiokafka.TopicPartition, position: int, end: int, patience: Patience
) -> AsyncGenerator[Record, None]:
    while position < end:
        budget.renew()
        fetched = await consumer.getmany(tp, timeout_ms=_POLL_MS)
        for record in fetched.get(tp, ()):
            if record.offset < end:
                yield record
        before, position = position, await consumer.position(tp)
        if position > before:
            patience.renew()


async def end_offsets(options: KafkaOptions, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The offset the next record of each partition will get; raise ``BrokerError`` on failure."""
    wanted = [aiokafka.TopicPartition(*partition) for partition in partitions]
    source = ", ".join(sorted({tp.topic for tp in wanted}))
    async with _consumer(options, source, ReadBudget(options.max_batch_bytes)) as (consumer, _):
        ends: Mapping[Any, int] = await consumer.end_offsets(wanted)
    return {TopicPartition(tp.topic, tp.partition): offset for tp, offset in ends.items()}


async def begin_offset(options: KafkaOptions, partition: TopicPartition) -> int:
    """The offset of the first record of a partition, its end where there is none; raise ``BrokerError`` on failure."""
    tp = aiokafka.TopicPartition(*partition)
    async with _consumer(options, _named(partition), ReadBudget(options.max_batch_bytes)) as (consumer, _):
        return int((await consumer.beginning_offsets([tp]))[tp])


async def first_offset_since(options: KafkaOptions, partition: TopicPartition, time_ms: int) -> int:
    """The offset of the first record with this time or a later one, else the end; raise ``BrokerError`` on failure."""
    tp = aiokafka.TopicPartition(*partition)
    async with _consumer(options, _named(partition), ReadBudget(options.max_batch_bytes)) as (consumer, _):
        # Asked first: what is appended meanwhile is younger.
        end = int((await consumer.end_offsets([tp]))[tp])
        found = (await consumer.offsets_for_times({tp: max(0, time_ms)}))[tp]
    return end if found is None else int(found.offset)


def _named(partition: TopicPartition) -> str:
    return f"{partition.topic} partition {partition.partition}"


def new_consumer(options: KafkaOptions, budget: ReadBudget) -> Any:
    """A consumer without a group, to be started under a ``Patience``."""
    read_tolerantly()
    return aiokafka.AIOKafkaConsumer(
        **options.aiokafka_under_patience(),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=options.fetch_max_wait_ms,
        max_partition_fetch_bytes=options.fetch_partition_bytes,
        key_deserializer=budget,
    )


@contextlib.asynccontextmanager
async def _consumer(options: KafkaOptions, source: str, budget: ReadBudget) -> AsyncIterator[tuple[Any, Patience]]:
    """A consumer, and the patience of one request for its work."""
    # A new consumer for every call: unsubscribing one and closing it soon after can block aiokafka for ever.
    consumer = new_consumer(options, budget)
    try:
        async with Patience(options.request_timeout_ms / 1000) as patience:
            await consumer.start()
            yield consumer, patience
    except (KafkaError, TimeoutError) as error:
        raise BrokerError(f"{source} cannot be read: {str(error) or type(error).__name__}") from error
    finally:
        await close(consumer._client, consumer.stop(), STOP_SECONDS)


async def _read_range(
    consumer: Any,
    budget: ReadBudget,
    tp: aiokafka.TopicPartition,
    start: int,
    end: int,
    see: Callable[[Record], T],
    patience: Patience,
) -> list[T]:
    consumer.seek(tp, start)
    return [see(record) async for record in _ahead(consumer, budget, tp, start, end, patience)]
