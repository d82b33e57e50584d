"""Watermarks: the event times before which no more events are expected, computed from the journal alone.

Each input partition has a clock: the latest event time read from it, or told by a tick while it is idle. An event that
says a time far ahead moves it only as far as ingest says (``Entry.clock_ms``): everybody's windows close by these
clocks, whoever sent the event. A watermark is the earliest clock. It never runs ahead of an input that is slower than
the others, in whatever order the inputs reach the journal. Until every topic that a watermark waits for has been heard
of, there is no watermark.

Programs that decide by their own model do not wait for the decisions topic, only those with limited places wait for the
rounds topic, and only those that ask wait for the answers topic, so there are four watermarks. All are always kept, so
that adding a program does not change the watermark of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import get_args

from ....schemas.events import SourcePosition, Tick
from ....schemas.kinds import WatermarkName, kinds
from ...journal.entries import Entry
from ...records import TopicPartition
from ...topics import Topics

Move = tuple[TopicPartition, int | None]
"""A clock and the event time that it moves to. None announces the partition."""


def required_topics(topics: Topics) -> Mapping[WatermarkName, frozenset[str]]:
    """The input topics that each watermark waits for."""
    inputs = kinds.of_flow("input")
    return {
        name: frozenset(topics.topic_of(kind) for kind in inputs if name in kind.clocks)
        for name in get_args(WatermarkName)
    }


def clock_moves(entry: Entry) -> Iterable[Move]:
    """The clocks that an entry moves: those that a tick names, or that of the partition an input was read from."""
    body = entry.body
    if isinstance(body, Tick):
        return [_move(source) for source in body.sources]
    if entry.source is not None and entry.kind.clocks:
        return ((entry.source, entry.time_ms if entry.clock_ms is None else entry.clock_ms),)
    return ()


def _move(source: SourcePosition) -> Move:
    return TopicPartition(source.topic, source.partition), source.time_ms


@dataclass
class Watermarks:
    """Clocks of input partitions in milliseconds since the epoch, and the minima of those that are required.

    ``ahead_ms`` are the latest event times that were too far ahead to move their partition's clock so far.
    """

    required: Mapping[WatermarkName, frozenset[str]]
    clocks: dict[TopicPartition, int | None] = field(default_factory=dict)
    values_ms: dict[WatermarkName, int | None] = field(default_factory=dict)
    ahead_ms: dict[TopicPartition, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._waiting: dict[str, list[WatermarkName]] = {}
        for name, topics in self.required.items():
            for topic in topics:
                self._waiting.setdefault(topic, []).append(name)
            if self.values_ms.get(name) is None:
                self.values_ms[name] = self._earliest(name)

    def advance(self, source: TopicPartition, time_ms: int | None) -> bool:
        """Move one clock, never backwards. Return whether a watermark moved."""
        before = self.clocks.get(source)
        if before is not None and (time_ms is None or time_ms <= before):
            return False
        if source.topic not in self._waiting or (time_ms is None and source in self.clocks):
            return False
        self.clocks[source] = time_ms
        moved = False
        for name in self._waiting[source.topic]:
            value = self.values_ms[name]
            if before is not None and value is not None and before > value:
                continue
            earliest = self._earliest(name)
            # A partition heard of for the first time may be behind: a watermark does not go back.
            if earliest is not None and (value is None or earliest > value):
                self.values_ms[name] = earliest
                moved = True
        return moved

    def note_ahead(self, source: TopicPartition, time_ms: int) -> None:
        """Keep an event time that was too far ahead for the partition's clock, if it is the latest."""
        self.ahead_ms[source] = max(time_ms, self.ahead_ms.get(source, time_ms))

    def values_after(self, moves: Iterable[Move]) -> Mapping[WatermarkName, int | None]:
        """The watermarks once these moves are made, without making them."""
        moves = [move for move in moves if move[0].topic in self._waiting]
        if all(source in self.clocks for source, _ in moves):
            # When all clocks are known, only each clock's latest time matters. A new partition could hold the watermark
            # back, so the moves are then kept in order.
            latest: dict[TopicPartition, int | None] = {}
            for source, time_ms in moves:
                if time_ms is not None and time_ms > (latest.get(source) or time_ms - 1):
                    latest[source] = time_ms
            moves = list(latest.items())
        future = Watermarks(self.required, dict(self.clocks), dict(self.values_ms))
        for source, time_ms in moves:
            future.advance(source, time_ms)
        return future.values_ms

    def known(self) -> Iterator[tuple[WatermarkName, int]]:
        """The watermarks that exist, always in the same order."""
        for name in self.required:
            value = self.values_ms[name]
            if value is not None:
                yield name, value

    def _earliest(self, name: WatermarkName) -> int | None:
        topics = self.required[name]
        clocks = [(source.topic, time_ms) for source, time_ms in self.clocks.items() if source.topic in topics]
        known = [time_ms for _, time_ms in clocks if time_ms is not None]
        is_complete = len(known) == len(clocks) and topics <= {topic for topic, _ in clocks}
        return min(known) if is_complete else None
