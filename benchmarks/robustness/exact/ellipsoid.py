"""The cheapest changes that hold under every linear model of an ellipsoid."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from onward.agents.candidates.contract import Array
from onward.agents.compiled import compiled
from onward.agents.promises.ellipsoid import Ellipsoid
from onward.benchmarks.robustness.exact.bounded import FARTHEST
from onward.benchmarks.robustness.exact.contract import Answers, Rules, Status
from onward.benchmarks.robustness.exact.solver import faults

MOST_SWEEPS = 2000
STILL = 1e-13
"""A sweep that moves no column by more, relatively, is the last one."""
RATIO = 1e-9
"""The least price of cost that is tried, of the largest at which anything changes."""


class RobustEllipsoid:
    r"""The least cost where the worst-case log odds over an ellipsoid reach what is required, within bounds.

    $z(x) = w x + b - \kappa \sqrt{(x, 1)^T \Sigma (x, 1)}$ is concave and smooth, and the cost separates by column. So
    at a price $\rho$ of cost, ascent along the columns in turn finds the largest $z - \rho\,$ cost; along one column it
    is a closed form. $\rho$ solves one equation. The answer is proven as that of ``RobustLinear`` is, by the model that
    is worst at it. A tenth of a millisecond to a few milliseconds a person: the columns do not separate.

    Parameters
    ----------
    weights, bias
        The linear score's log odds, (D,).
    models
        The ellipsoid, (D + 1, D + 1), the intercept last.
    cost
        The cost of a unit of change of each column (D,), above 0; 1 by default.

    Examples
    --------
    >>> models = Ellipsoid(np.diag([0.04, 0.0, 0.01]), 2.0)
    >>> answers = RobustEllipsoid(np.array([1.0, 1.0]), -1.0, models).least_cost(
    ...     np.array([[0.2, 0.2]]), Rules(np.zeros(2), np.ones(2)), 0.0
    ... )
    >>> answers.targets.round(3), bool(answers.gap[0] < 1e-8)
    (array([[0.218, 1.   ]]), True)
    """

    def __init__(self, weights: Array, bias: float, models: Ellipsoid, cost: Array | None = None) -> None:
        self.weights, self.bias, self.models = np.ascontiguousarray(weights, dtype=np.float64), float(bias), models
        self.cost = np.ones_like(self.weights) if cost is None else np.ascontiguousarray(cost, dtype=np.float64)
        self._spread = np.ascontiguousarray(models.covariance * models.radius**2)
        if self._spread.shape != (len(weights) + 1,) * 2:
            raise ValueError(f"the covariance has the shape {self._spread.shape}, and there are {len(weights)} columns")

    def margin(self, points: Array) -> Array:
        """The worst-case log odds, (n,), of points (n, D)."""
        return self.models.worst_case(points, self.weights, self.bias)

    def least_cost(self, people: Array, rules: Rules, required: float) -> Answers:
        """The least cost of n people (n, D) whose worst-case log odds are to be at least ``required``.

        Steps and groups are not supported: raise ``ValueError``.
        """
        if rules.step is not None or rules.groups:
            raise ValueError("steps and one-hot groups are kept by RobustLinear alone")
        own = np.array(people, dtype=np.float64, order="C")
        lowest, highest = (np.broadcast_to(end, own.shape).astype(np.float64) for end in rules[:2])
        status, targets, numbers = faults(own, lowest, highest, rules), own.copy(), np.full((len(own), 4), math.nan)
        for i in np.flatnonzero(status == Status.FOUND):
            low, high = np.maximum(lowest[i], own[i] - FARTHEST), np.minimum(highest[i], own[i] + FARTHEST)
            targets[i], numbers[i] = self._person(own[i], low, high, required)
        status[(status == Status.FOUND) & (numbers[:, 0] < required)] = Status.OUT_OF_REACH
        status[(status == Status.FOUND) & (targets == own).all(axis=1)] = Status.ENOUGH
        margin, cost, bound, best = numbers.T
        return Answers(targets, status, margin, cost, cost.copy(), bound, best)

    def _person(self, own: Array, low: Array, high: Array, required: float) -> tuple[Array, tuple[float, ...]]:
        """A person's target (D,), and its margin, cost, bound of the cost, and bound of the margin."""
        reached = self._margin(own)
        if reached >= required:
            return own, (reached, 0.0, 0.0, math.inf)
        largest = float(((np.abs(self.weights) + np.sqrt(np.diag(self._spread)[:-1])) / self.cost).max())
        x = own.copy()
        self._climb(0.0, own, low, high, x)
        if (most := self._margin(x)) < required:
            return x, (most, float(np.abs(x - own) @ self.cost), math.inf, self._supremum(x, own, low, high, 0.0))

        def lacking(log_rho: float) -> float:
            self._climb(math.exp(log_rho), own, low, high, x)
            return required - self._margin(x)

        near, far = math.log(largest) + 1e-9, math.log(RATIO * largest)
        rho = math.exp(brentq(lacking, far, near, xtol=1e-14, rtol=1e-15)) if lacking(far) < 0 else RATIO * largest
        self._climb(rho, own, low, high, x)
        witness = x.copy()
        step = 1e-14
        while self._margin(x) < required and rho > 0.0:
            # The equation is solved but for rounding: a slightly lower price reaches the margin.
            rho, step = (rho * (1.0 - step), 2.0 * step) if step < 0.5 else (0.0, step)
            self._climb(rho, own, low, high, x)
        bound = (required - self._supremum(witness, own, low, high, max(rho, 1e-300))) / max(rho, 1e-300)
        return x, (self._margin(x), float(np.abs(x - own) @ self.cost), max(bound, 0.0), math.inf)

    def _margin(self, x: Array) -> float:
        row = np.append(x, 1.0)
        return float(self.weights @ x + self.bias - math.sqrt(max(0.0, row @ self._spread @ row)))

    def _climb(self, rho: float, own: Array, low: Array, high: Array, x: Array) -> None:
        climb(rho, own, low, high, (self.weights, self.cost, self._spread), x)

    def _supremum(self, x: Array, own: Array, low: Array, high: Array, rho: float) -> float:
        """An upper bound of z - rho cost within the bounds: under the model that is worst at x the columns separate."""
        row = np.append(x, 1.0)
        shift = self._spread @ row
        shift = shift / math.sqrt(max(1e-300, row @ shift))
        weight = self.weights - shift[:-1]
        ends = [weight * end - rho * self.cost * np.abs(end - own) for end in (own, low, high)]
        return float(np.max(ends, axis=0).sum() + self.bias - shift[-1])


@compiled
def climb(rho: float, own: Array, low: Array, high: Array, model: tuple[Array, Array, Array], x: Array) -> None:
    """Move x (D,) to the largest z - rho cost, column by column; ``model`` has weights, cost and the matrix."""
    weights, cost, spread = model
    count = len(x)
    product = spread[:, count].copy()
    for d in range(count):
        product += spread[:, d] * x[d]
    for _ in range(MOST_SWEEPS):
        moved = 0.0
        square = product[count]
        for d in range(count):
            square += product[d] * x[d]
        for d in range(count):
            own_square = spread[d, d]
            linear = product[d] - own_square * x[d]
            rest = square - 2.0 * x[d] * product[d] + own_square * x[d] * x[d]
            price = rho * cost[d]
            up = best_along(weights[d] - price, own_square, linear, rest)
            down = best_along(weights[d] + price, own_square, linear, rest)
            to = min(max(min(max(own[d], up), down), low[d]), high[d])
            step = to - x[d]
            if step != 0.0:
                square += step * (2.0 * product[d] + own_square * step)
                product += spread[:, d] * step
                x[d] = to
                moved = max(moved, abs(step) / (1.0 + abs(to)))
        if moved <= STILL:
            break


@compiled
def best_along(slope: float, square: float, linear: float, rest: float) -> float:
    """The t that maximises slope t - sqrt(square t^2 + 2 linear t + rest); infinite where there is none."""
    if square <= 0.0 or slope * slope >= square:
        return math.inf if slope > 0.0 else -math.inf if slope < 0.0 else 0.0
    height = max(0.0, rest - linear * linear / square)
    return -linear / square + slope * math.sqrt(height / (square * (square - slope * slope)))
