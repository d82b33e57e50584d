"""Problems with bounds alone, as arrays: what the compiled loops solve."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.candidates.contract import Array
from onward.agents.promises.ball import LpBall
from onward.benchmarks.robustness.exact.frontier import solve_margins, solve_prices

FARTHEST = 1e9
"""Where there are no bounds, the hard form looks so far, in encoded units."""


class Node(NamedTuple):
    """n problems with bounds alone: starting points and bounds (n, D), weights and costs (1, D), and bias (n,)."""

    own: Array
    lowest: Array
    highest: Array
    weights: Array
    cost: Array
    bias: Array


class BoundedProblems:
    """Recourse under the worst model within a ball around a linear score, for people with bounds alone.

    ``weights`` (D,) and ``bias`` are those of the log odds, ``cost`` (D,) of a unit of change of each column.
    """

    def __init__(self, weights: Array, bias: float, ball: LpBall, cost: Array | None = None) -> None:
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.bias, self.ball = float(bias), ball
        self.cost = np.ones_like(self.weights) if cost is None else np.ascontiguousarray(cost, dtype=np.float64)
        if not (np.isfinite(self.weights).all() and np.isfinite(self.bias)):
            raise ValueError(f"weights are {self.weights} and bias {self.bias}: give finite numbers")
        if self.cost.shape != self.weights.shape or not (np.isfinite(self.cost) & (self.cost > 0.0)).all():
            raise ValueError(f"cost is {self.cost}: give a finite number above 0 for each of the columns")

    def margin(self, points: Array) -> Array:
        """The worst-case log odds, (n,), of points (n, D)."""
        return self.ball.worst_case(points, self.weights, self.bias)

    def solve_nodes(
        self,
        node: Node,
        trade: float,
        required: Array | None,
        counts: NDArray[np.bool_] | None = None,
        extra: float = 0.0,
    ) -> tuple[Array, Array]:
        """The optima of n problems: targets (n, D) and the numbers (n, 5) of ``Answers``, from the margin on.

        ``counts`` (D,) are the columns in the norm; ``extra`` is how many ones of fixed columns are in it too.
        """
        targets, numbers = node.own.copy(), np.empty((len(node.own), 4))
        inside = np.ones(node.own.shape[1], dtype=np.bool_) if counts is None else counts
        q, floor = self.ball.q, self.ball.floor
        if extra:
            floor = max(floor, 1.0) if math.isinf(q) else (floor**q + extra) ** (1.0 / q)
        model = (node.weights, node.cost, node.bias, inside, (float(self.ball.radius), q, floor))
        if required is None:
            solve_prices(targets, node.lowest, node.highest, model, float(trade), numbers)
            margin, cost, objective, bound = numbers.T
            best = np.full(len(targets), math.inf)
        else:
            low, high = np.maximum(node.lowest, node.own - FARTHEST), np.minimum(node.highest, node.own + FARTHEST)
            solve_margins(targets, low, high, model, required, numbers)
            margin, cost, bound, best = numbers.T
            objective = cost
        return targets, np.stack([margin, cost, objective, bound, best], axis=1)
