"""ROAR: gradient descent against the worst model within a ball. A baseline."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from onward.agents.candidates.contract import Array
from onward.agents.promises.ball import LpBall
from onward.agents.sigmoid import LARGEST_ODDS, bounded_sigmoid


class Roar:
    r"""Descends on $\log(1 + e^{-z(x)}) + \lambda \|x - x_0\|_1$, with the worst model at x taken again in every step.

    The optimiser is Adam, as in the authors' work; it stops at a fixed number of steps, and oscillates around kinks of
    the objective, so the price stays above the optimum.

    Parameters
    ----------
    weights, bias
        The linear score's log odds, (D,).
    ball
        The ball, with p = 1 or infinity.
    steps, rate
        The number of steps, and the step size in encoded units.

    References
    ----------
    Upadhyay, S., Joshi, S. and Lakkaraju, H. (2021). Towards Robust and Reliable Algorithmic Recourse. NeurIPS.
    """

    baseline: ClassVar[bool] = True

    def __init__(self, weights: Array, bias: float, ball: LpBall, steps: int = 1000, rate: float = 0.05) -> None:
        if ball.p != 1.0 and not math.isinf(ball.p):
            raise ValueError(f"p is {ball.p}: ROAR is for p = 1 and infinity")
        self._weights, self._bias, self._ball = np.asarray(weights, dtype=np.float64), float(bias), ball
        self._steps, self._rate = steps, rate

    def price(self, people: Array, trade: float) -> Array:
        """The targets, (n, D), of n people (n, D): unit costs, no bounds."""
        x, first, second = people.astype(np.float64), np.zeros_like(people), np.zeros_like(people)
        for step in range(1, self._steps + 1):
            worst = self._weights + self._shift(x)
            share = bounded_sigmoid(-self._ball.worst_case(x, self._weights, self._bias), LARGEST_ODDS)
            slope = -share[:, np.newaxis] * worst + trade * np.sign(x - people)
            first = 0.9 * first + 0.1 * slope
            second = 0.999 * second + 0.001 * slope**2
            x = x - self._rate * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        return x

    def _shift(self, x: Array) -> Array:
        """The worst change of the weights at x, (n, D)."""
        if math.isinf(self._ball.p):
            return -self._ball.radius * np.sign(x)
        row = np.abs(np.column_stack([x, np.full(len(x), self._ball.floor)]))
        largest = row.argmax(axis=1)[:, np.newaxis] == np.arange(x.shape[1])
        return np.asarray(-self._ball.radius * np.sign(x) * largest)
