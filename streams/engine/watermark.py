"""Watermarks: the event times before which nothing more is expected, told by the journal alone.

Each input partition has a clock, the latest event time read from it (or told by a tick while it is idle). A watermark
is the earliest of these clocks, so it never runs ahead of an input that is slower than the others, in whatever order
the inputs reached the journal. While a topic that events must come from has not been heard of, there is no watermark.

Programs that decide by their own model need not wait for the decisions topic, so there are two watermarks. Both are
kept whatever programs there are: adding one changes nothing for the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..records import TopicPartition
from ..topics import Topics

Decider = Literal["model", "external"]
"""Who decides a program's applications, as its spec says: what its watermark waits for depends on it."""


def required_topics(topics: Topics) -> Mapping[Decider, frozenset[str]]:
    """The input topics that each watermark waits for."""
    own = frozenset({topics.applications, topics.outcomes})
    return {"model": own, "external": own | {topics.decisions}}


@dataclass
class Watermarks:
    """Clocks of input partitions in milliseconds since the epoch, and the minima of those that are required."""

    required: Mapping[Decider, frozenset[str]]
    clocks: dict[TopicPartition, int | None] = field(default_factory=dict)
    values_ms: dict[Decider, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._clocked = frozenset[str]().union(*self.required.values())
        for decider in self.required:
            if self.values_ms.get(decider) is None:
                self.values_ms[decider] = self._earliest(decider)

    def advance(self, source: TopicPartition, time_ms: int | None) -> bool:
        """Move one clock, never backwards; True if a watermark moved. ``time_ms`` None announces the partition."""
        if source.topic not in self._clocked:
            return False
        known = source in self.clocks
        before = self.clocks.get(source)
        if known and (time_ms is None or (before is not None and time_ms <= before)):
            return False
        self.clocks[source] = time_ms
        moved = False
        for decider, topics in self.required.items():
            value = self.values_ms[decider]
            if source.topic not in topics or (before is not None and value is not None and before > value):
                continue
            earliest = self._earliest(decider)
            # A partition heard of for the first time may be behind: what has been concluded stays concluded.
            if earliest is not None and (value is None or earliest > value):
                self.values_ms[decider] = earliest
                moved = True
        return moved

    def after(self, moves: Iterable[tuple[TopicPartition, int | None]]) -> Mapping[Decider, int | None]:
        """The watermarks once these moves are made, without making them."""
        future = Watermarks(self.required, dict(self.clocks), dict(self.values_ms))
        for source, time_ms in moves:
            future.advance(source, time_ms)
        return future.values_ms

    def known(self) -> Iterator[tuple[Decider, int]]:
        """Those that there are, always in the same order."""
        for decider in self.required:
            value = self.values_ms[decider]
            if value is not None:
                yield decider, value

    def _earliest(self, decider: Decider) -> int | None:
        topics = self.required[decider]
        clocks = {source: clock for source, clock in self.clocks.items() if source.topic in topics}
        if {source.topic for source in clocks} != topics:
            return None
        times = [clock for clock in clocks.values() if clock is not None]
        return min(times) if len(times) == len(clocks) else None
