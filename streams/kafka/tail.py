"""The last records of a partition, whatever gaps transactions, compaction or deletion left between them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import aiokafka
from aiokafka.errors import KafkaError

from ..errors import BrokerError
from ..records import Record, TopicPartition
from .batches import read_tolerantly
from .options import KafkaOptions

_POLL_MS = 200
_STOP_SECONDS = 3.0


async def tail(options: KafkaOptions, partition: TopicPartition, count: int) -> list[Record]:
    """The last ``count`` records in offset order, fewer when there are fewer; raise ``BrokerError`` on failure.

    Looks back ``count`` offsets, and twice as far again until enough records turn up or the beginning is reached.
    """
    tp = aiokafka.TopicPartition(*partition)
    async with _reading(options, f"{partition.topic} partition {partition.partition}") as consumer:
        consumer.assign([tp])
        return await _last(consumer, tp, count)


async def end_offsets(options: KafkaOptions, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The offset the next record of each partition will get; raise ``BrokerError`` on failure."""
    wanted = [aiokafka.TopicPartition(*partition) for partition in partitions]
    async with _reading(options, ", ".join(sorted({tp.topic for tp in wanted}))) as consumer:
        ends: Mapping[Any, int] = await consumer.end_offsets(wanted)
    return {TopicPartition(tp.topic, tp.partition): offset for tp, offset in ends.items()}


@contextlib.asynccontextmanager
async def _reading(options: KafkaOptions, what: str) -> AsyncIterator[Any]:
    # One connection a call: unsubscribing a kept consumer and closing it soon after can block aiokafka for ever.
    read_tolerantly()
    consumer = aiokafka.AIOKafkaConsumer(
        **options.aiokafka(),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=options.fetch_max_wait_ms,
        max_partition_fetch_bytes=options.fetch_partition_bytes,
    )
    try:
        async with asyncio.timeout(options.request_timeout_ms / 1000):
            await consumer.start()
            yield consumer
    except (KafkaError, TimeoutError) as error:
        raise BrokerError(f"{what} cannot be read: {str(error) or type(error).__name__}") from error
    finally:
        await asyncio.wait([asyncio.ensure_future(consumer.stop())], timeout=_STOP_SECONDS)


async def _last(consumer: Any, tp: aiokafka.TopicPartition, count: int) -> list[Record]:
    first = (await consumer.beginning_offsets([tp]))[tp]
    end = (await consumer.end_offsets([tp]))[tp]
    back = count
    while True:
        start = max(first, end - back)
        records = await _between(consumer, tp, start, end)
        if len(records) >= count or start == first:
            return records[-count:]
        back *= 2


async def _between(consumer: Any, tp: aiokafka.TopicPartition, start: int, end: int) -> list[Record]:
    consumer.seek(tp, start)
    records: list[Record] = []
    while await consumer.position(tp) < end:
        fetched = await consumer.getmany(tp, timeout_ms=_POLL_MS)
        records += [record for record in fetched.get(tp, ()) if record.offset < end]
    return records
