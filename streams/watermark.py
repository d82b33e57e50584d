"""The watermark: the event time before which nothing more is expected, told by the journal alone.

Each input partition has a clock, the latest event time read from it (or told by a tick while it is idle). The
watermark is the earliest of these clocks, so it never runs ahead of an input that is slower than the others, in
whatever order the inputs reached the journal. While a topic that events must come from has not been heard of,
there is no watermark.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .records import TopicPartition


@dataclass
class Watermark:
    """Clocks of input partitions in milliseconds since the epoch, and their minimum."""

    required: frozenset[str]
    clocks: dict[TopicPartition, int | None] = field(default_factory=dict)
    value_ms: int | None = None

    def __post_init__(self) -> None:
        if self.value_ms is None:
            self.value_ms = self._earliest()

    def advance(self, source: TopicPartition, time_ms: int | None) -> bool:
        """Move one clock, never backwards; True if the watermark moved. ``time_ms`` None announces the partition."""
        if source.topic not in self.required:
            return False
        known = source in self.clocks
        before = self.clocks.get(source)
        if known and (time_ms is None or (before is not None and time_ms <= before)):
            return False
        self.clocks[source] = time_ms
        if before is not None and self.value_ms is not None and before > self.value_ms:
            return False
        earliest = self._earliest()
        # A partition heard of for the first time may be behind: what has been concluded stays concluded.
        if earliest is None or (self.value_ms is not None and earliest <= self.value_ms):
            return False
        self.value_ms = earliest
        return True

    def after(self, moves: Iterable[tuple[TopicPartition, int | None]]) -> int | None:
        """The watermark once these moves are made, without making them."""
        future = Watermark(self.required, dict(self.clocks), self.value_ms)
        for source, time_ms in moves:
            future.advance(source, time_ms)
        return future.value_ms

    def _earliest(self) -> int | None:
        if {source.topic for source in self.clocks} != self.required:
            return None
        clocks = [clock for clock in self.clocks.values() if clock is not None]
        return min(clocks) if len(clocks) == len(self.clocks) else None
