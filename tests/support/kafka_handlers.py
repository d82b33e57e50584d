"""A handler that keeps its chunks, a worker that runs in the background, and the records of a topic."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

import confluent_kafka

from onward.streams.kafka.client import EventReader
from onward.streams.kafka.consume.worker import run_worker
from onward.streams.kafka.options import KafkaOptions
from onward.streams.records import ChunkHandler, Lag, Record, TopicPartition


class Recorder:
    """Keeps its chunks. ``starts`` are its start offsets; ``before`` is awaited before a chunk is kept."""

    def __init__(
        self,
        starts: Mapping[TopicPartition, int] | None = None,
        before: Callable[[Sequence[Record]], Any] | None = None,
        *,
        together: bool = False,
    ) -> None:
        self.takes_partitions_together = together
        self.starts = starts or {}
        self.before = before
        self.chunks: list[list[Record]] = []
        self.owned: set[TopicPartition] = set()
        self.in_progress = 0

    async def assigned(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        self.owned |= set(partitions)
        return {partition: start for partition, start in self.starts.items() if partition in self.owned}

    async def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        assert not self.in_progress
        self.owned -= set(partitions)

    async def handle(self, chunk: Sequence[Record]) -> None:
        self.in_progress += 1
        try:
            if self.before:
                await self.before(chunk)
            self.chunks.append(list(chunk))
        finally:
            self.in_progress -= 1

    @property
    def records(self) -> list[Record]:
        return [record for chunk in self.chunks for record in chunk]

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for record in self.records]


class KeepLag:
    """An ``on_started`` that keeps the worker's lag."""

    lag: Lag | None = None

    async def __call__(self, lag: Lag) -> None:
        self.lag = lag

    def of(self, partition: TopicPartition) -> int | None:
        return None if self.lag is None else self.lag.lag(partition)


@contextlib.asynccontextmanager
async def working(
    options: KafkaOptions, handlers: Mapping[str, ChunkHandler], **more: Any
) -> AsyncIterator[asyncio.Task[None]]:
    """A worker that runs as long as the block, and that must end without an error."""
    stop = asyncio.Event()
    task = asyncio.create_task(run_worker(options, handlers, stop=stop, signals=more.pop("signals", False), **more))
    try:
        yield task
    finally:
        stop.set()
        await asyncio.wait([task])
    if not task.cancelled() and task.exception():
        raise task.exception() or AssertionError


async def until(condition: Callable[[], Any]) -> None:
    """Return when the condition holds."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.005)


def committed(options: KafkaOptions, topic: str, partition: int = 0) -> int:
    """The group's committed offset."""
    consumer = confluent_kafka.Consumer({**options.confluent(), "group.id": options.group})
    try:
        return consumer.committed([confluent_kafka.TopicPartition(topic, partition)], timeout=5)[0].offset
    finally:
        consumer.close()


def read_all(options: KafkaOptions, *topics: str) -> list[Record]:
    """The records of some topics, up to their ends."""
    with EventReader(options, topics) as reader:
        records = []
        while not reader.caught_up:
            records += reader.poll(1.0)
    return records
