"""A goal: clear the threshold by a margin, within a week."""

from __future__ import annotations

from typing import ClassVar

from onward.agents.goals import Goal, registry

MARGIN = 0.05
WEEK_MS = 7 * 24 * 60 * 60 * 1000


@registry.add
class Margin(Goal):
    """A score above the threshold by ``MARGIN``; the goal holds for a week."""

    name: ClassVar[str] = "margin"

    @property
    def required(self) -> float:
        """The threshold and the margin."""
        return self.threshold + MARGIN

    def until_ms(self, time_ms: int) -> int:
        """A week from the answer."""
        return time_ms + WEEK_MS
