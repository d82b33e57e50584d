"""Interfaces that the consumer requires of its worker."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from ...records import TopicPartition
from ...worker.lease import Lease
from ..options import KafkaOptions


class PartitionOwner(Protocol):
    """Processes the chunks of the assigned partitions."""

    async def assigned(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """As ``ChunkHandler.assigned``; cancelled when the partitions are revoked meanwhile."""

    def drop_queued(self) -> None:
        """Drop the chunks that are not in progress: they will be read again."""

    async def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """As ``ChunkHandler.revoked``."""

    def before_commit(self, topics: Collection[str]) -> None:
        """Observe that offsets of these topics are about to be committed to the group."""

    def expired(self, partition: TopicPartition, first: int, until: int) -> None:
        """Observe that the records from offset ``first`` to before ``until`` were deleted before they were read."""

    def fail(self, error: BaseException) -> None:
        """End the worker with this error. Called in the worker's loop."""

    def is_idle(self) -> bool:
        """Whether no chunk is queued or in progress. May be called in any thread."""

    def is_stopping(self) -> bool:
        """Whether the worker is about to end. May be called in any thread."""


class WorkerTransport(Protocol):
    """The part of the transport that its consumer uses."""

    options: KafkaOptions
    owner: PartitionOwner
    lease: Lease
