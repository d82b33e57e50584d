"""Brokers in memory, for pipelines that run in one process without Kafka."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TypeVar

from onward.streams.records import OutRecord, Record, TopicPartition, record_bytes

T = TypeVar("T")


@dataclass
class MemoryBroker:
    """A ``Publisher`` whose partitions are lists. Every topic has ``width`` partitions."""

    width: int = 1
    logs: dict[tuple[str, int], list[Record]] = field(default_factory=lambda: defaultdict(list))
    inputs: dict[tuple[str, int, int], Record] = field(default_factory=dict)
    begins: dict[TopicPartition, int] = field(default_factory=dict)
    """Where partitions begin whose first records were deleted. ``logs`` keeps those too, for comparison."""

    async def publish(self, records: Sequence[OutRecord]) -> Sequence[int]:
        """Append the records to their partitions."""
        offsets = []
        for out in records:
            log = self.logs[out.topic, out.partition]
            offsets.append(len(log))
            log.append(_stored(out, len(log)))
        return offsets

    async def records_at(self, wanted: Mapping[TopicPartition, Set[int]]) -> Mapping[tuple[str, int, int], Record]:
        """Return the input records that a test has put into ``inputs``."""
        places = [(*partition, offset) for partition, offsets in wanted.items() for offset in offsets]
        return {place: self.inputs[place] for place in places if place in self.inputs}

    async def partitions(self, topic: str) -> int:
        """Return ``width``, whatever the topic."""
        return self.width

    async def tail(self, topic: str, partition: int, see: Callable[[Record], T], count: int = 1) -> list[T]:
        """Apply ``see`` to the last ``count`` records."""
        begin = self.begins.get(TopicPartition(topic, partition), 0)
        return [see(record) for record in self.logs[topic, partition][begin:][-count:]]

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the length of each partition; a partition that was never written here has no end."""
        return {at: len(self.logs[at]) if at in self.logs else sys.maxsize for at in partitions}

    async def begin_offset(self, partition: TopicPartition) -> int:
        """Return where the partition begins."""
        return self.begins.get(partition, 0)

    async def first_offset_since(self, partition: TopicPartition, time_ms: int) -> int:
        """Return the offset of the first record of this time or later."""
        log = self.logs[partition]
        since = (record.offset for record in log[self.begins.get(partition, 0) :] if record.timestamp_ms >= time_ms)
        return next(since, len(log))

    async def records_from(
        self, partition: TopicPartition, begin: int, end: int, most_bytes: int
    ) -> tuple[list[Record], int]:
        """Return the records, fewer where they are of more bytes."""
        assert self.begins.get(partition, 0) <= begin <= end <= len(self.logs[partition])
        kept: list[Record] = []
        for record in self.logs[partition][begin:end]:
            kept.append(record)
            if sum(map(record_bytes, kept)) >= most_bytes:
                break
        return kept, begin + len(kept)

    async def delete_before(self, partition: TopicPartition, offset: int) -> None:
        """Let the partition begin at the offset."""
        assert self.begins.get(partition, 0) <= offset <= len(self.logs[partition])
        self.begins[partition] = offset


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
            record = _stored(out, self.written[out.topic])
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


def _stored(out: OutRecord, offset: int) -> Record:
    return Record(out.topic, out.partition, offset, out.timestamp_ms, out.key, out.value, tuple(out.headers))
