"""The conformal offset: a correction of goals by the coverage that they reach."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .closed_round import ClosedRound

RATE = 0.1
"""The learning rate, in standard deviations of newcomers' scores for a loss of 1."""

MEMORY = 0.95
"""The weight of a round's lags relative to those of the next."""

PRIOR = 1.0
"""How many people are supposed to have come back after each lag l: this number divided by l."""

LARGEST = 10.0
"""The largest offset, in standard deviations."""


class ConformalOffset:
    r"""Moves goals up after rounds in which they did not suffice, and down after the others.

    With the nominal coverage $1 - \alpha$, and $\ell_t$ the loss of round $t$, the offset on the logit of goals is

    $$\theta_{t+1} = \theta_t + \eta (\ell_t - \alpha)$$

    so that the mean loss of $N$ rounds differs from $\alpha$ by $(\theta_N - \theta_0) / (\eta N)$ exactly, whatever
    the scores do. While the offset stays within its limits of +-10, the mean coverage tends to the nominal one. This is
    a statement about a long-run average, not about a person or a round.

    The loss is the rejected share of those who came back with a score that reaches their goal. In a round without such
    a person it is that of a supposed one: the goals of the last T rounds are held against the lowest score that got a
    place, each weighted by how often people come back after that many rounds. So the offset moves also while nobody
    succeeds, because the goals are too high. A round without places changes nothing.

    Parameters
    ----------
    coverage
        The nominal coverage.
    horizon
        The number T of rounds within which people come back.

    References
    ----------
    Gibbs, I. and Candès, E. (2021). Adaptive Conformal Inference Under Distribution Shift. NeurIPS.
    Angelopoulos, A., Candès, E. and Tibshirani, R. (2023). Conformal PID Control for Time Series Prediction. NeurIPS.
    """

    def __init__(self, coverage: float, horizon: int, rate: float = RATE) -> None:
        self.alpha = 1.0 - coverage
        self.horizon, self.rate = horizon, rate
        self.theta = np.zeros(1)
        self.goal = np.zeros(horizon)
        self.number = np.full(horizon, -1, dtype=np.int64)
        self.lags = np.zeros(horizon)

    @property
    def deviations(self) -> float:
        """The offset of the logit of a goal, in standard deviations of newcomers' logits."""
        return float(self.theta[0])

    def keep(self, number: int, score: float) -> None:
        """Keep the goal of a round, in the place of that of T rounds before."""
        self.goal[number % self.horizon] = score
        self.number[number % self.horizon] = number

    def observe(self, closed: ClosedRound) -> None:
        """Move by the loss of a closed round."""
        if closed.places == 0:
            return
        loss = self._loss(closed)
        if loss is not None:
            self.theta[0] = np.clip(self.theta[0] + self.rate * (loss - self.alpha), -LARGEST, LARGEST)
        lags = np.minimum(closed.lag[closed.reached], self.horizon) - 1
        self.lags += np.bincount(lags, minlength=self.horizon)
        self.lags *= MEMORY

    def _loss(self, closed: ClosedRound) -> float | None:
        if closed.reached.any():
            return float(1.0 - closed.accepted[closed.reached].mean())
        lag = closed.number - self.number
        known = (self.number >= 0) & (lag >= 1) & (lag <= self.horizon)
        if not known.any():
            return None
        weight = PRIOR / lag[known] + self.lags[lag[known] - 1]
        return float(np.average(closed.threshold > self.goal[known], weights=weight))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of its state, by name; they are written to in place."""
        return {"theta": self.theta, "goal": self.goal, "number": self.number, "lags": self.lags}
