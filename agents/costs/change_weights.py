"""The effect of a change of each encoded column on the execution probability, learned by ridge regression."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from .contract import Array


class ChangeWeights:
    """The weights w of exp(-w |change|), the probability that a person carries a change out; none is below 0.

    The weights minimise a quadratic form. Each observation adds its own quadratic form, linearised around the weights
    at that time: ``information`` and ``target`` are the sums, and w solves (information + precision) w = target +
    precision ``mean``. Only the lower triangle of ``information`` is used.

    Parameters
    ----------
    mean
        Prior mean of the weights, shape (D,).
    precision
        Inverse of the prior covariance of the weights, shape (D, D).
    """

    def __init__(self, mean: Array, precision: Array) -> None:
        columns = len(mean)
        self.information, self.target = np.zeros((columns, columns)), np.zeros(columns)
        self.weights = np.empty(columns)
        factor = np.empty((columns, columns))
        self._ridge = self.information, self.target, precision, precision @ mean, factor, self.weights
        self.solve()

    def solve(self) -> None:
        """Update the weights to the current sums."""
        solve(self._ridge)

    def state(self) -> dict[str, NDArray[Any]]:
        """``information`` (D, D) and ``target`` (D,)."""
        return {"information": self.information.copy(), "target": self.target.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a state of the same number of columns."""
        self.information[:], self.target[:] = state["information"], state["target"]
        self.solve()


Ridge = tuple[Array, Array, Array, Array, Array, Array]
"""``information`` (D, D), ``target`` (D,), the prior's ``precision`` (D, D) and target (D,), room for a Cholesky
``factor`` (D, D), and the ``weights`` (D,)."""


@compiled
def solve(ridge: Ridge) -> None:
    """Solve (information + precision) w = target + prior target by Cholesky's method, and clip w at 0, in place."""
    information, target, precision, prior_target, factor, weights = ridge
    columns = len(weights)
    for i in range(columns):
        for j in range(i + 1):
            total = information[i, j] + precision[i, j]
            for d in range(j):
                total -= factor[i, d] * factor[j, d]
            factor[i, j] = math.sqrt(total) if i == j else total / factor[j, j]
    for i in range(columns):
        total = target[i] + prior_target[i]
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
