"""A broker that keeps nothing, for pipelines that run for long in one process without Kafka."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TypeVar

from onward.streams.records import OutRecord, Record, TopicPartition
from onward.testing.memory_broker import stored

T = TypeVar("T")


class DiscardingBroker:
    """A ``Publisher`` with one partition a topic. It keeps some topics until they are taken and counts the rest."""

    def __init__(self, *kept: str) -> None:
        self.written: Counter[str] = Counter()
        self._waiting: dict[str, list[Record]] = {topic: [] for topic in kept}
        self._last: dict[str, Record] = {}

    async def publish(self, records: Sequence[OutRecord]) -> Sequence[int]:
        """Assign every record its offset; keep it only if its topic is kept."""
        offsets = []
        for out in records:
            offsets.append(self.written[out.topic])
            record = stored(out, self.written[out.topic])
            self.written[out.topic] += 1
            self._last[out.topic] = record
            if out.topic in self._waiting:
                self._waiting[out.topic].append(record)
        return offsets

    async def records_at(self, wanted: Mapping[TopicPartition, Set[int]]) -> Mapping[tuple[str, int, int], Record]:
        """Return none."""
        return {}

    async def partitions(self, topic: str) -> int:
        """Return 1."""
        return 1

    async def tail(
        self,
        topic: str,
        partition: int,
        see: Callable[[Record], T],
        count: int = 1,
    ) -> list[T]:
        """Apply ``see`` to the last record; earlier ones are gone."""
        return [see(self._last[topic])] if topic in self._last else []

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return no end for any partition."""
        return dict.fromkeys(partitions, sys.maxsize)

    async def begin_offset(self, partition: TopicPartition) -> int:
        """Return 0."""
        return 0

    async def first_offset_since(self, partition: TopicPartition, time_ms: int) -> int:
        """Return 0: nothing is ever old."""
        return 0

    async def records_from(
        self, partition: TopicPartition, begin: int, end: int, most_bytes: int
    ) -> tuple[list[Record], int]:
        """Return none."""
        return [], end

    async def delete_before(self, partition: TopicPartition, offset: int) -> None:
        """Keep all."""

    def take(self, topic: str) -> list[Record]:
        """Return and forget the records of a kept topic since the last call."""
        taken, self._waiting[topic] = self._waiting[topic], []
        return taken
