"""Open options under a new linear model: who is cleared without work, and who must be looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onward.agents.promises import LpBall, alpha_max
from onward.agents.promises.ball import SAFETY_FACTOR, Array, log_odds

Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]


def accepted(points: Array, weights: Array, bias: float, required: float = 0.0) -> Mask:
    """Which points (n, D) a linear model accepts: those with log odds above the required ones."""
    return np.asarray(log_odds(points, weights, bias) > required)


class OpenOptions:
    """The open options of a program under the model that made them, in the order of how much change they survive.

    A new model that moved by a drift clears all with a larger alpha_max; the others are scored, one product of their
    matrix with its weights.

    Parameters
    ----------
    points
        The options' encoded targets, (n, D).
    ball
        The norm in which models are compared; its radius does not count.
    weights, bias
        The current model.
    required
        The log odds that must be exceeded, under both models.

    Examples
    --------
    >>> options = OpenOptions(np.array([[1.0], [0.2], [0.6]]), LpBall(0.0, 2), np.array([2.0]), -0.3)
    >>> options.broken(np.array([2.0]), -0.9)
    array([1])
    """

    def __init__(self, points: Array, ball: LpBall, weights: Array, bias: float, required: float = 0.0) -> None:
        survived = alpha_max(points, ball.norms(points), weights, bias, required)
        self.order: Indices = np.argsort(survived, kind="stable")
        self.points, self.alpha_max = np.ascontiguousarray(points[self.order]), survived[self.order]
        self._ball, self._weights, self._bias, self._required = ball, weights, bias, required

    def uncertain(self, weights: Array, bias: float) -> int:
        """How many of the options, the first ones in ``order``, a new model must be asked about."""
        drift = self._ball.drift((weights - self._weights)[np.newaxis], np.array([bias - self._bias])).item()
        if not self._ball.intercept and bias != self._bias:
            return len(self.order)
        return int(np.searchsorted(SAFETY_FACTOR * self.alpha_max, drift, side="right"))

    def broken(self, weights: Array, bias: float) -> Indices:
        """The indices, ascending, of the options that a new model does not accept."""
        asked = self.uncertain(weights, bias)
        lost = ~accepted(self.points[:asked], weights, bias, self._required)
        return np.sort(self.order[:asked][lost])
