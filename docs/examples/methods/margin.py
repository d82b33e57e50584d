"""A goal: clear the threshold by a margin, within a week."""

from __future__ import annotations

from typing import ClassVar

from onward.agents.goals import Goal, registry
from onward.agents.goals.contract import Array, Mask

MARGIN = 0.05
WEEK_MS = 7 * 24 * 60 * 60 * 1000


@registry.add
class Margin(Goal):
    """A score above the threshold by ``MARGIN``; the goal holds for a week."""

    name: ClassVar[str] = "margin"

    def reached(self, score: Array) -> Mask:
        """Which scores clear the threshold by the margin."""
        return score > self.threshold + MARGIN

    def until_ms(self, time_ms: int) -> int:
        """A week from the answer."""
        return time_ms + WEEK_MS
