"""Calendars: the ends of rounds, where the spec says how long a round lasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ....schemas.spec import Capacity
from ...durations import milliseconds


@dataclass(frozen=True)
class Calendar:
    """Rounds that end every ``period_ms``: round 0 at ``start_ms``, both in milliseconds.

    Examples
    --------
    >>> weekly = Calendar(start_ms=1000, period_ms=100)
    >>> weekly.round_of(1201), weekly.end_of(3)
    (3, 1300)
    """

    start_ms: int
    period_ms: int

    @classmethod
    def from_capacity(cls, capacity: Capacity) -> Self | None:
        """The calendar of a program; None where events announce its rounds."""
        if capacity.round is None:
            return None
        return cls(round(capacity.start.timestamp() * 1000), milliseconds(capacity.round))

    def round_of(self, time_ms: int) -> int:
        """The first round that ends at this time or later."""
        return max(0, -((self.start_ms - time_ms) // self.period_ms))

    def end_of(self, number: int) -> int:
        """When a round ends."""
        return self.start_ms + number * self.period_ms

    def ends_at(self, end_ms: int) -> bool:
        """Whether a round ends at this time."""
        return end_ms >= self.start_ms and (end_ms - self.start_ms) % self.period_ms == 0
