"""A broker in memory, for pipelines that run in one process without Kafka."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TypeVar

from ..streams.records import OutRecord, Record, TopicPartition, record_bytes

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
            log.append(stored(out, len(log)))
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


def stored(out: OutRecord, offset: int) -> Record:
    """The record that a partition holds at an offset."""
    return Record(out.topic, out.partition, offset, out.timestamp_ms, out.key, out.value, tuple(out.headers))
