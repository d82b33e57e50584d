"""A handler that keeps what it was given, and a worker running in the background."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

import confluent_kafka

from onward.streams.kafka.consume.worker import run_worker
from onward.streams.kafka.options import KafkaOptions
from onward.streams.records import ChunkHandler, Record, TopicPartition


class Recorder:
    """Keeps chunks; begins at ``starts``; does ``first`` before it takes a chunk."""

    def __init__(
        self,
        starts: Mapping[TopicPartition, int] | None = None,
        first: Callable[[Sequence[Record]], Any] | None = None,
        *,
        together: bool = False,
    ) -> None:
        self.takes_partitions_together = together
        self.starts = starts or {}
        self.first = first
        self.chunks: list[list[Record]] = []
        self.owned: set[TopicPartition] = set()
        self.under_way = 0

    async def assigned(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        self.owned |= set(partitions)
        return {partition: start for partition, start in self.starts.items() if partition in self.owned}

    async def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        assert not self.under_way
        self.owned -= set(partitions)

    async def handle(self, chunk: Sequence[Record]) -> None:
        self.under_way += 1
        try:
            if self.first:
                await self.first(chunk)
            self.chunks.append(list(chunk))
        finally:
            self.under_way -= 1

    @property
    def records(self) -> list[Record]:
        return [record for chunk in self.chunks for record in chunk]

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for record in self.records]


@contextlib.asynccontextmanager
async def working(
    options: KafkaOptions, handlers: Mapping[str, ChunkHandler], **more: Any
) -> AsyncIterator[asyncio.Task[None]]:
    """A worker that runs while the block does, and that must end well unless the block has awaited it."""
    stop = asyncio.Event()
    task = asyncio.create_task(run_worker(options, handlers, stop=stop, signals=more.pop("signals", False), **more))
    try:
        yield task
    finally:
        stop.set()
        await asyncio.wait([task])
    if not task.cancelled() and task.exception():
        raise task.exception() or AssertionError


async def until(condition: Callable[[], Any], seconds: float = 10.0) -> None:
    """Return when the condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def committed(options: KafkaOptions, topic: str, partition: int = 0) -> int:
    """The offset that the group has been told."""
    consumer = confluent_kafka.Consumer({**options.confluent(), "group.id": options.group})
    try:
        return consumer.committed([confluent_kafka.TopicPartition(topic, partition)], timeout=5)[0].offset
    finally:
        consumer.close()
