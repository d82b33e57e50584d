"""The models near a linear one: a ball in an L^p norm, and what it does to log odds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Array as Array
from ..compiled import compiled

SAFETY_FACTOR = 1.0 - 1e-9
"""By so much a drift must be below alpha_max: rounding errors of both."""


@dataclass(frozen=True)
class LpBall:
    r"""All linear models whose parameters differ by at most ``radius`` in the norm $p$.

    Over it the log odds $w x + b$ are at least $w x + b - \alpha \|(x, 1)\|_q$ with $1/p + 1/q = 1$, by Hölder's
    inequality, and some model attains that. Without the intercept in the ball the 1 is a 0.

    Parameters
    ----------
    radius
        $\alpha$, 0 or more, in the unit of the parameters: log odds for a unit of an encoded column.
    p
        The norm of the parameters, from 1 to infinity.
    intercept
        Whether the intercept changes too.

    Raises
    ------
    ValueError
        For a radius that is no finite number from 0 on, and a norm below 1.

    Examples
    --------
    >>> LpBall(0.5, 2).q, LpBall(0.5, 1).q, LpBall(0.5, math.inf).q
    (2.0, inf, 1.0)
    >>> LpBall(0.5, 2, intercept=False).norms(np.array([[3.0, 4.0]]))
    array([5.])

    References
    ----------
    Kyaw, P., Kayastha, K. and Jabbari, S. (2025). Optimal Robust Recourse with L^p-Bounded Model Change.
    arXiv 2509.21293. The sign of the worst case is ours: see docs/measured/robust.md.
    """

    radius: float
    p: float = 2.0
    intercept: bool = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.radius < math.inf:
            raise ValueError(f"radius is {self.radius}: give a finite number, 0 or more")
        if not self.p >= 1.0:
            raise ValueError(f"p is {self.p}: give a norm from 1 to infinity")

    @property
    def q(self) -> float:
        """The dual norm."""
        if self.p == 1.0:
            return math.inf
        return 1.0 if math.isinf(self.p) else self.p / (self.p - 1.0)

    @property
    def floor(self) -> float:
        """The entry of the intercept in the norms of points: 1, or 0 where it does not change."""
        return float(self.intercept)

    def norms(self, points: Array) -> Array:
        """``||(x, 1)||_q``, (n,), of points (n, D). They do not depend on the model: keep them with the points."""
        norms = np.empty(len(points))
        add_norms(np.ascontiguousarray(points), self.q, self.floor, norms)
        return norms

    def slopes(self, points: Array) -> Array:
        """The slopes of these norms at points (n, D), one for each column, (n, D)."""
        sizes, norms = np.abs(points), self.norms(points)[:, np.newaxis]
        if self.q == 1.0:
            return np.where(points < 0.0, -1.0, 1.0)
        if math.isinf(self.q):
            return np.asarray(np.sign(points) * ((sizes == norms) & (sizes > self.floor)))
        safe = np.where(norms > 0.0, norms, 1.0)
        return np.asarray(np.sign(points) * (sizes / safe) ** (self.q - 1.0))

    def drift(self, weights: Array, bias: Array) -> Array:
        """The distance from the centre after changes of the parameters, (B, D) and (B,), in the norm p, (B,)."""
        moved = np.abs(np.column_stack([weights, bias]) if self.intercept else np.asarray(weights))
        return np.asarray(np.linalg.norm(moved, ord=self.p, axis=1))

    def worst_case(self, points: Array, weights: Array, bias: float) -> Array:
        """The least log odds, (n,), of points (n, D) under the models of the ball around ``weights`` (D,)."""
        return log_odds(points, weights, bias) - self.radius * self.norms(points)


def log_odds(points: Array, weights: Array, bias: float) -> Array:
    """``w x + b``, (n,), of points (n, D), added in the order of the columns: no point depends on the others."""
    odds = np.empty(len(points))
    add_columns(np.ascontiguousarray(points), np.ascontiguousarray(weights), float(bias), odds)
    return odds


def alpha_max(points: Array, norms: Array, weights: Array, bias: float, required: float = 0.0) -> Array:
    r"""The change of the model that each option survives: $(w x + b - \ell) / \|(x, 1)\|_q$, (n,).

    ``points`` are encoded (n, D), ``norms`` (n,) those of ``LpBall.norms``, kept with them, and ``required`` are log
    odds. A model nearer than that, in the norm p, accepts the option; below 0 the model itself does not.

    Examples
    --------
    >>> points = np.array([[1.0, 1.0], [0.0, 1.0]])
    >>> alpha_max(points, LpBall(0.0, p=1).norms(points), np.array([1.0, 0.5]), -1.0)
    array([ 0.5, -0.5])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((log_odds(points, weights, bias) - required) / norms)


@compiled
def add_columns(points: Array, weights: Array, bias: float, odds: Array) -> None:
    """Write w x + b of each row to ``odds`` (n,)."""
    for i in range(len(points)):
        total = 0.0
        for d in range(len(weights)):
            total += points[i, d] * weights[d]
        odds[i] = total + bias


@compiled
def add_norms(points: Array, q: float, floor: float, norms: Array) -> None:
    """Write the q-norm of each row and ``floor`` to ``norms`` (n,)."""
    for i in range(len(points)):
        largest, total = floor, floor
        for d in range(points.shape[1]):
            largest = max(largest, abs(points[i, d]))
            total += abs(points[i, d])
        if q == 1.0:
            norms[i] = total
        elif q > 1e300 or largest == 0.0:
            norms[i] = largest
        else:
            total = (floor / largest) ** q
            for d in range(points.shape[1]):
                size = abs(points[i, d]) / largest
                total += size * size if q == 2.0 else size**q
            norms[i] = largest * total ** (1.0 / q)
