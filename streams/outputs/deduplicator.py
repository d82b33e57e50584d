"""Deduplication: readers of the outputs recognise repeated records, and an owner does not repeat what it finds there.

Every output carries its position in the journal (``onward_position``) and the generation of the partition's owner who
wrote it (``onward_generation``). Positions rise within a partition. A worker that was paused and has lost its partition
may still have records in flight, which arrive behind its successor's. They are the same bytes at a position that was
read already: a reader that keeps the highest position of each partition drops them and loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from ..engine.version import EngineSpan
from ..records import Record, TopicPartition
from ..topics import Topics
from .emission import ENGINE, GENERATION, POSITION, Emission, OutputPosition, topic_of

BEFORE_ALL = OutputPosition(-1, -1)
LARGEST = 2**62
"""An upper bound of offsets and generations; a ledger can hold larger numbers."""


class Classification(StrEnum):
    """An output, to a reader who has read all outputs before it."""

    NEW = "new"
    REPEATED = "repeated"
    STALE = "stale"
    """Repeated, and written by an owner of the partition that has a successor."""


class HighWaterMark(NamedTuple):
    """How far a partition of an output topic has been written, up to which generation, and the furthest by which
    engine."""

    position: OutputPosition = BEFORE_ALL
    generation: int = 0
    engine: EngineSpan = EngineSpan()


class Deduplicator:
    """Follows the partitions of output topics, each from any record on and then in order."""

    def __init__(self) -> None:
        self._marks: dict[TopicPartition, HighWaterMark] = {}

    def go_on(self, partition: TopicPartition, mark: HighWaterMark) -> None:
        """Follow a partition from where somebody else has read it to."""
        self._marks[partition] = mark

    def classify(self, record: Record) -> Classification:
        """Classify a record. One without a position counts as new."""
        partition = TopicPartition(record.topic, record.partition)
        before = self._marks.get(partition, HighWaterMark())
        mark = _mark(record)
        if mark is None:
            return Classification.NEW
        is_new, generation = mark.position > before.position, max(before.generation, mark.generation)
        furthest = mark if is_new else before
        self._marks[partition] = HighWaterMark(furthest.position, generation, furthest.engine)
        if is_new:
            return Classification.NEW
        return Classification.STALE if mark.generation < generation else Classification.REPEATED

    def mark(self, topic: str, partition: int) -> HighWaterMark:
        """How far a partition has been read."""
        return self._marks.get(TopicPartition(topic, partition), HighWaterMark())


def unpublished_emissions(
    emissions: Sequence[Emission], published: Mapping[str, OutputPosition], topics: Topics
) -> Sequence[Emission]:
    """The emissions that their topics do not hold: all, except those that are folded again after a crash.

    ``published`` is the last position in each output topic, ``emissions`` are by rising position.
    """
    if not emissions or emissions[0].position > max(published.values()):
        return emissions
    return [emission for emission in emissions if emission.position > published[topic_of(emission, topics)]]


def _mark(record: Record) -> HighWaterMark | None:
    headers = dict(record.headers)
    try:
        mark = HighWaterMark(
            OutputPosition.parse(headers[POSITION]),
            int(headers.get(GENERATION, b"0")),
            EngineSpan.parse(headers.get(ENGINE, b"0.0")),
        )
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
    return mark if max(*mark.position, mark.generation, *mark.engine) < LARGEST else None
