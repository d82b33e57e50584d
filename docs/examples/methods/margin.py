"""A goal: clear the threshold by a share of what is left above it, within a week."""

from __future__ import annotations

from typing import Annotated, ClassVar

from onward.agents.goals import Goal, registry
from onward.agents.parameters import Interval

WEEK_MS = 7 * 24 * 60 * 60 * 1000


@registry.add
class Margin(Goal):
    """A score above the threshold by a share of what is left to 1; the goal holds for a week.

    Parameters
    ----------
    share
        The share, below 1.
    """

    name: ClassVar[str] = "margin"

    def __init__(
        self, threshold: float, margin: float = 0.0, *, share: Annotated[float, Interval(at_least=0, below=1)] = 0.1
    ) -> None:
        super().__init__(threshold, margin, share=share)
        self._share = share

    @property
    def required(self) -> float:
        """The threshold and the share of what is left above it."""
        return self.threshold + self._share * (1.0 - self.threshold)

    def until_ms(self, time_ms: int) -> int:
        """A week from the answer."""
        return time_ms + WEEK_MS
