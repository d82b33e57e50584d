"""Return rates: how many of those who are predicted to succeed come back successful, by the rounds since."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array

PRIOR_PEOPLE = 5.0
"""The weight of the assumption that all who succeed come back in the next round."""


class ReturnRates:
    """Returns relative to the successes that were predicted, both by lag; old rounds weigh less.

    Parameters
    ----------
    horizon
        The number T of rounds within which people come back. A longer lag counts as this one.
    memory
        The weight of a round relative to that of the next.
    """

    def __init__(self, horizon: int, memory: float) -> None:
        self.horizon, self.memory = horizon, memory
        self.returned, self.predicted = np.zeros(horizon), np.zeros(horizon)
        self.expected = np.zeros(horizon)  # the predicted successes of the next round, by lag

    @property
    def rates(self) -> Array:
        """The shares (T,) of predicted successes that come back successful after 1, ..., T rounds."""
        prior = np.zeros(self.horizon)
        prior[0] = PRIOR_PEOPLE
        return (self.returned + prior) / (self.predicted + PRIOR_PEOPLE)

    def observe(self, lag: NDArray[np.int64]) -> None:
        """Learn from a round: the lags (r,) of those who came back successful in it."""
        returned = np.bincount(self.place(lag), minlength=self.horizon)
        for sums, new in ((self.returned, returned), (self.predicted, self.expected)):
            sums *= self.memory
            sums += new
        self.expected[:] = 0.0

    def expect(self, lag: NDArray[np.int64], success: Array) -> None:
        """Expect open promises in the next round: their lags in it, and their success, each (j,)."""
        self.expected[:] = np.bincount(self.place(lag), success, self.horizon)

    def place(self, lag: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of lags (j,) in the arrays."""
        return np.minimum(lag, self.horizon) - 1

    def arrays(self) -> dict[str, Array]:
        """The arrays of its state, by name; they are written to in place."""
        return {"returned": self.returned, "predicted": self.predicted, "expected": self.expected}
