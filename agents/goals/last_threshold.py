"""The last round's threshold: what everybody is told who asks what would have been enough."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .closed_round import ClosedRound
from .components.season import RoundsAhead
from .rounds import Prospects, RoundGoal


class LastThreshold(RoundGoal):
    """The lowest score that got a place in the last round. A baseline of the literature.

    Everybody who follows it arrives at the same score together, so it is too low as soon as many do.

    Examples
    --------
    >>> goal = LastThreshold(coverage=0.95, horizon=1)
    >>> goal.observe(ClosedRound(0, places=9, threshold=0.6, newcomers=np.array([0.5, 0.7])))
    >>> goal.aim(Prospects())
    Aim(score=0.6, until=1, forecast=0.6, without=())
    """

    name: ClassVar[str] = "last_threshold"

    def __init__(self, coverage: float, horizon: int, *, offset: bool = False) -> None:
        super().__init__(coverage, horizon, offset=offset)
        self._threshold = np.full(1, 0.5)

    def _learn(self, closed: ClosedRound) -> None:
        if closed.places and closed.threshold > 0:
            self._threshold[0] = closed.threshold

    def _score(self, prospects: Prospects, ahead: RoundsAhead) -> float:
        return float(self._threshold[0])

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"threshold": self._threshold}
