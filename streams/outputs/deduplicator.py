"""Outputs that were published before, recognised by whoever reads them.

Every output says where it comes from in the journal (``onward_position``) and which owner of the partition wrote it
(``onward_generation``). Positions rise within a partition. A worker that was paused, lost its partition and still had
records under way may write some of them after the new owner has: they are the same bytes at a position that was read
already, so whoever keeps the highest position of each partition drops them and loses nothing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ..records import Record, TopicPartition
from .emission import GENERATION, POSITION, OutputPosition

BEFORE_ALL = OutputPosition(-1, -1)
LARGEST = 2**62
"""No offset and no count of owners comes near it, and a ledger can hold what follows."""


class Verdict(StrEnum):
    """What an output is to a reader who has seen all before it."""

    NEW = "new"
    REPEATED = "repeated"
    STALE = "stale"
    """Repeated, and written by an owner of the partition that has a successor."""


class HighWaterMark(NamedTuple):
    """How far a partition of an output topic has been written, and by which generation."""

    position: OutputPosition = BEFORE_ALL
    generation: int = 0


class Deduplicator:
    """Follows the partitions of output topics, each from any record on and then in order."""

    def __init__(self) -> None:
        self._marks: dict[TopicPartition, HighWaterMark] = {}

    def judge(self, record: Record) -> Verdict:
        """What the record is; one without a position is new, since it cannot be told."""
        place = TopicPartition(record.topic, record.partition)
        before = self._marks.get(place, HighWaterMark())
        found = _mark(record)
        if found is None:
            return Verdict.NEW
        generation = max(before.generation, found.generation)
        self._marks[place] = HighWaterMark(max(before.position, found.position), generation)
        if found.position > before.position:
            return Verdict.NEW
        return Verdict.STALE if found.generation < generation else Verdict.REPEATED

    def mark(self, topic: str, partition: int) -> HighWaterMark:
        """How far a partition has come."""
        return self._marks.get(TopicPartition(topic, partition), HighWaterMark())


def _mark(record: Record) -> HighWaterMark | None:
    headers = dict(record.headers)
    try:
        mark = HighWaterMark(OutputPosition.parse(headers[POSITION]), int(headers.get(GENERATION, b"0")))
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
    return mark if max(*mark.position, mark.generation) < LARGEST else None
