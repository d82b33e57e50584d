"""Algorithm 2 of the paper: the greedy method for p = infinity. A baseline."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from onward.agents.candidates.contract import Array


class Algorithm2:
    r"""Moves one column at a time, that of the largest weight under the worst model, until no move pays.

    Under the worst model within an L^inf ball column i has the weight $w_i - \alpha\,\mathrm{sgn}(x_i)$. The column
    with the largest absolute one moves until the price is least along it, or to 0, where the worst weight changes. With
    unit costs and without bounds that is optimal: the columns separate, and this is the order of their value.

    Parameters
    ----------
    weights, bias
        The linear score's log odds, (D,).
    radius
        Of the L^inf ball, in which the intercept changes too.

    References
    ----------
    Kayastha, K., Gkatzelis, V. and Jabbari, S. (2024). Learning-Augmented Robust Algorithmic Recourse.
    arXiv 2410.01580. Algorithm 2 of arXiv 2509.21293, as far as it is known to us.
    """

    baseline: ClassVar[bool] = True

    def __init__(self, weights: Array, bias: float, radius: float) -> None:
        self._weights, self._bias, self._radius = np.asarray(weights, dtype=np.float64), float(bias), radius

    def price(self, people: Array, trade: float) -> Array:
        """The targets, (n, D), of n people (n, D): unit costs, no bounds."""
        return np.array([self._person(person, trade) for person in people])

    def _person(self, own: Array, trade: float) -> Array:
        x, open_ = own.copy(), np.ones(len(own), dtype=np.bool_)
        while open_.any():
            value = np.where(open_, np.abs(self._slopes(x)), 0.0)
            column = int(value.argmax())
            if value[column] <= trade:
                break
            direction = math.copysign(1.0, self._weights[column])
            if x[column] * self._slopes(x)[column] < 0.0:
                direction = -math.copysign(1.0, x[column])
            # The price is least along the column where sigmoid(-z) times the weight is the trade.
            wanted = math.log(value[column] / trade - 1.0) if value[column] > trade else -math.inf
            length = (wanted - self._margin(x)) / value[column]
            if length <= 0.0:
                break
            crossing = abs(x[column]) if direction * x[column] < 0.0 else math.inf
            if length < crossing:
                x[column] += direction * length
                break
            x[column] = 0.0
            open_[column] = abs(self._weights[column]) > self._radius
        return x

    def _margin(self, x: Array) -> float:
        return float(self._weights @ x + self._bias - self._radius * (np.abs(x).sum() + 1.0))

    def _slopes(self, x: Array) -> Array:
        """The gain of the best direction of each column, signed by it; 0 where none gains."""
        side = np.where(x != 0.0, np.sign(x), np.sign(self._weights))
        slopes = self._weights - self._radius * side
        lost = (x == 0.0) & (np.abs(self._weights) <= self._radius)
        return np.where(lost, 0.0, slopes)
