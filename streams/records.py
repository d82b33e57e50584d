"""Kafka records as plain tuples, and the ports through which the runtime talks to a broker.

Nothing here imports a Kafka client: ``streams/kafka`` implements these protocols, tests implement them in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple, Protocol, TypeVar

from msgspec import Struct

from ..schemas.events import Journaled

Headers = Sequence[tuple[str, bytes]]
T = TypeVar("T")


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


class UnreadBatch(NamedTuple):
    """A batch of records that was not read: the ``reason``, a word for dead letters, and what explains it.

    ``size`` and ``sha256`` are of the batch as the broker holds it.
    """

    reason: str
    detail: str
    first_offset: int
    size: int
    sha256: str


class Record(NamedTuple):
    """A record as read. ``timestamp_ms`` is the broker's or sender's record time in milliseconds since the epoch.

    With ``unread`` it stands for all records of a batch, at the offset of the last of them, and has no content.
    ``lines`` are there in a record of the journal that this process has appended: what its value holds.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    unread: UnreadBatch | None = None
    lines: tuple[Journaled, ...] | None = None

    @property
    def first_offset(self) -> int:
        """The offset of the first record that it stands for."""
        return self.offset if self.unread is None else self.unread.first_offset


def record_bytes(record: Record) -> int:
    """The bytes of a record's key, value and headers."""
    headers = sum(len(name) + len(value) for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers


UNKNOWN_OFFSET = -1
"""Of a record that is in its partition, where its broker does not say."""


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

    async def publish(self, records: Sequence[OutRecord]) -> Sequence[int]:
        """Return the offset of each when every record is acknowledged by all in-sync replicas.

        It may be ``UNKNOWN_OFFSET``. Raise ``BrokerError`` where one is not acknowledged.
        """

    async def partitions(self, topic: str) -> int:
        """The number of partitions of a topic; raise ``BrokerError`` when it does not exist."""

    async def tail(self, topic: str, partition: int, see: Callable[[Record], T], count: int = 1) -> list[T]:
        """The values of ``see`` for the last ``count`` records of a partition, in offset order; fewer if it has fewer.

        It may be shown older ones too. The records are not kept: all of them may be more than fits into memory.
        """

    async def records_at(self, wanted: Mapping[TopicPartition, Set[int]]) -> Mapping[tuple[str, int, int], Record]:
        """The records at these offsets, by topic, partition and offset, as far as their topics still hold them."""

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The offset that the next record of each partition will get."""

    async def begin_offset(self, partition: TopicPartition) -> int:
        """The offset of the first record that a partition still holds; its end where it holds none."""

    async def first_offset_since(self, partition: TopicPartition, time_ms: int) -> int:
        """The offset of the first record with this record time or a later one; the partition's end without one."""

    async def records_from(
        self, partition: TopicPartition, begin: int, end: int, most_bytes: int
    ) -> tuple[list[Record], int]:
        """The records of a partition from one offset to below another, and the offset up to which these are all.

        It ends early with the record that reaches so many bytes.
        """

    async def delete_before(self, partition: TopicPartition, offset: int) -> None:
        """Delete the records before an offset; raise ``BrokerError`` when Kafka refuses."""


class ChunkHandler(Protocol):
    """Consumes a topic, in chunks."""

    takes_partitions_together: bool
    """False: a chunk holds records of one partition, and chunks of different partitions are handled concurrently.
    True: a chunk may hold records of several partitions, and the topic has one chunk at a time."""

    async def assigned(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Take over newly assigned partitions, and return the offsets to read them from.

        A partition without an offset starts at the group's committed offset, or at the beginning.
        """

    async def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """Give up partitions that are no longer this worker's. No chunk of theirs is in progress."""

    async def handle(self, chunk: Sequence[Record]) -> None:
        """Process the records of a chunk; each partition's come in offset order.

        When this returns, their offsets may be committed. An exception ends the worker, and nothing of the chunk is
        committed.
        """


HandOver = Callable[[Sequence[Record]], None]
"""Takes records of the journal that this process has appended, each partition's in the order of their offsets."""


class Lag(Protocol):
    """How far behind the worker is."""

    def lag(self, partition: TopicPartition) -> int | None:
        """Records between the position and the end of the partition; None while that is not known."""


class RunningWorker(Lag, Protocol):
    """A worker that has started."""

    def hand_over(self, records: Sequence[Record]) -> None:
        """Let the handlers of the partitions of these records, which this process has appended, handle them.

        They come once more when they are read.
        """
