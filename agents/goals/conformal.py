"""The conformal goal: thresholds so far, and an offset that keeps the coverage."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..parameters import Interval
from ..sigmoid import bounded_logit, bounded_sigmoid
from .closed_round import ClosedRound
from .components.season import RoundsAhead
from .rounds import Prospects, RoundGoal


class Conformal(RoundGoal):
    r"""The sigmoid of a moving average of the logit threshold and the conformal offset.

    It needs no prediction of who will succeed, nor of who will apply:
    $g_t = \sigma(\bar\tau_t + \theta_t)$, with $\bar\tau$ the exponentially weighted mean of the thresholds' logits.

    Parameters
    ----------
    memory
        The weight of a round in the mean, relative to that of the next, between 0 and 1.

    Examples
    --------
    >>> goal = Conformal(coverage=0.95, horizon=1)
    >>> goal.observe(ClosedRound(0, places=9, threshold=0.6, newcomers=np.array([0.5, 0.7])))
    >>> round(goal.aim(Prospects()).score, 3)
    0.6
    """

    name: ClassVar[str] = "conformal"

    def __init__(
        self,
        coverage: float,
        horizon: int,
        *,
        offset: bool = True,
        memory: Annotated[float, Interval(above=0, below=1)] = 0.9,
    ) -> None:
        super().__init__(coverage, horizon, offset=offset, memory=memory)
        self.memory = memory
        self._sums = np.zeros(2)  # the weighted logits of thresholds, and their weights

    def _learn(self, closed: ClosedRound) -> None:
        if closed.places and closed.threshold > 0:
            self._sums *= self.memory
            self._sums += (bounded_logit(closed.threshold), 1.0)

    def _score(self, prospects: Prospects, ahead: RoundsAhead) -> float:
        total, weight = self._sums.tolist()
        return float(bounded_sigmoid(total / weight)) if weight else 0.5

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"sums": self._sums}
