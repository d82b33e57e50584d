"""Kafka records as plain tuples, and the ports through which the runtime talks to a broker.

Nothing here imports a Kafka client: ``streams/kafka`` implements these protocols, tests implement them in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

Headers = Sequence[tuple[str, bytes]]


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


class Record(NamedTuple):
    """A record as read. ``timestamp_ms`` is the broker's or sender's record time in milliseconds since the epoch."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class OutRecord(Struct, frozen=True, gc=False):
    """A record to publish, partition chosen by the caller."""

    topic: str
    partition: int
    timestamp_ms: int
    key: bytes | None
    value: bytes
    headers: Headers


class Publisher(Protocol):
    """Publishes records in order within each partition, without gaps or repeats (an idempotent producer)."""

    async def publish(self, records: Sequence[OutRecord]) -> None:
        """Return when every record is acknowledged by all in-sync replicas; raise ``BrokerError`` otherwise."""

    async def partitions(self, topic: str) -> int:
        """The number of partitions of a topic; raise ``BrokerError`` when it does not exist."""

    async def tail(self, topic: str, partition: int, count: int = 1) -> list[Record]:
        """The last ``count`` records of a partition in offset order, fewer when it holds fewer."""

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The offset that the next record of each partition will get."""


class ChunkHandler(Protocol):
    """What consumes a topic, in chunks. Those of different partitions come side by side, or ``together``."""

    together: bool
    """Whether a chunk may hold several partitions' records; there is then one chunk of the topic at a time."""

    async def assigned(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Partitions this worker now owns. The answer holds the offsets to read from; a partition that is not in
        it starts at the group's committed offset, or at the beginning."""

    async def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """Partitions this worker no longer owns; no chunk of theirs is under way when this is called."""

    async def handle(self, chunk: Sequence[Record]) -> None:
        """Process records of one topic partition, or of several, each in offset order without gaps. When this returns,
        their offsets may be committed. An exception ends the worker: nothing of the chunk is committed."""


class Lag(Protocol):
    """How far behind the worker is."""

    def lag(self, partition: TopicPartition) -> int | None:
        """Records between the position and the end of the partition; None while that is not known."""
