"""How hard a change of each feature is, learned by ridge regression."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ..contract import Array, State


class ChangeWeights:
    """Weights w of exp(-w |change|), the probability that a person carries a change out; none is below 0.

    They are the minimum of a quadratic form, to which whatever is observed adds its own, linearised around what was
    known then: ``information`` and ``target`` are sums, and w solves (information + precision) w = target +
    precision ``mean``. Of ``information`` only the lower triangle is used.

    Parameters
    ----------
    mean
        What the weights are taken to be beforehand, shape (D,).
    precision
        How sure that is: the inverse of its covariance, shape (D, D).
    """

    def __init__(self, mean: Array, precision: Array) -> None:
        columns = len(mean)
        self._precision, self._pull = precision, precision @ mean
        self._factor = np.empty((columns, columns))
        self.weights = np.empty(columns)
        self.information, self.target = np.zeros((columns, columns)), np.zeros(columns)
        self.solve()

    def solve(self) -> None:
        """Bring the weights up to date with what was added."""
        solve(self.information, self.target, self._precision, self._pull, self._factor, self.weights)

    def learn(self, change: Array, score: float, weight: float, effort: float) -> None:
        """Add an outcome's score with respect to the effort, and its weight, linearised around the effort."""
        learn(
            change,
            score,
            weight,
            effort,
            self.information,
            self.target,
            self._precision,
            self._pull,
            self._factor,
            self.weights,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """``information`` (D, D) and ``target`` (D,)."""
        return {"information": self.information.copy(), "target": self.target.copy()}

    def restore(self, state: State) -> None:
        """Continue from a state of as many columns."""
        self.information = np.array(state["information"], dtype=np.float64)
        self.target = np.array(state["target"], dtype=np.float64)
        self.solve()


@compiled
def solve(information: Array, target: Array, precision: Array, pull: Array, factor: Array, weights: Array) -> None:
    """Put the solution of (information + precision) w = target + pull, cut off at 0, into ``weights``, by Cholesky's
    method."""
    columns = len(weights)
    for i in range(columns):
        for j in range(i + 1):
            total = information[i, j] + precision[i, j]
            for d in range(j):
                total -= factor[i, d] * factor[j, d]
            factor[i, j] = math.sqrt(total) if i == j else total / factor[j, j]
    for i in range(columns):
        total = target[i] + pull[i]
        for d in range(i):
            total -= factor[i, d] * weights[d]
        weights[i] = total / factor[i, i]
    for back in range(columns):
        i = columns - 1 - back
        total = weights[i]
        for d in range(i + 1, columns):
            total -= factor[d, i] * weights[d]
        weights[i] = total / factor[i, i]
    for i in range(columns):
        weights[i] = max(weights[i], 0.0)


@compiled
def learn(
    change: Array,
    score: float,
    weight: float,
    effort: float,
    information: Array,
    target: Array,
    precision: Array,
    pull: Array,
    factor: Array,
    weights: Array,
) -> None:
    """Add an outcome's score with respect to the effort, and its weight, linearised around the effort, in place."""
    for a in range(len(change)):
        target[a] += change[a] * (score + weight * effort)
        for b in range(a + 1):
            information[a, b] += weight * change[a] * change[b]
    solve(information, target, precision, pull, factor, weights)
