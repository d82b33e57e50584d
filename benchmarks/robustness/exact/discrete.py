"""Whole steps and one-hot groups: branch and bound over the problems with bounds alone, one person at a time.

A one-hot group has exactly one 1 in each of its states, so it adds a constant to the norm, and its categories are gains
and costs. Their upper concave hull turns it into columns of [0, 1] that do not count in the norm: one for each edge of
the hull. With it, and without steps, the problem is one of ``frontier.py``, whose bound holds for the person's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from onward.agents.candidates.contract import Array, Indices
from onward.benchmarks.robustness.exact.bounded import BoundedProblems, Node
from onward.benchmarks.robustness.exact.contract import Rules

WHOLE = 1e-9
"""So near to a whole number of steps, or to a category, counts as one."""
CLOSED = 1e-10
"""A part of the tree whose bound is so near to the best point, relatively, is left out."""
SLACK = 1e-12
"""Log odds by which a point on the grid may miss the required ones: rounding."""

Categories = tuple[tuple[int, ...], ...]


class Problem(NamedTuple):
    """A person's problem: own row, bounds and steps (D,), the columns without a group, and the groups' columns.

    ``allowed`` are the categories of each group that are open, by their number in it.
    """

    own: Array
    lowest: Array
    highest: Array
    step: Array
    free: Indices
    groups: tuple[Indices, ...]
    allowed: Categories


class Edge(NamedTuple):
    """From one category of a group's hull to the next: the category entered, its gain in log odds, and its cost."""

    group: int
    category: int
    gain: float
    cost: float


class Relaxed(NamedTuple):
    """The optimum of a problem without steps: x (D,) of the free columns, the share of each edge, and a lower bound."""

    x: Array
    shares: Array
    bases: tuple[int, ...]
    edges: list[Edge]
    bound: float
    best: float


def root_of(own: Array, lowest: Array, highest: Array, rules: Rules) -> Problem:
    """The root: the person's problem with bounds on whole steps, and with the categories that the bounds leave."""
    step = np.zeros_like(own) if rules.step is None else np.asarray(rules.step, dtype=np.float64)
    whole = step > 0.0
    size = np.where(whole, step, 1.0)
    low = np.where(whole, own + size * np.ceil((lowest - own) / size - WHOLE), lowest)
    high = np.where(whole, own + size * np.floor((highest - own) / size + WHOLE), highest)
    free = np.ones(len(own), dtype=np.bool_)
    allowed = []
    for group in rules.groups:
        free[group] = False
        forced = np.flatnonzero(lowest[group] > 0.0)
        open_ = forced if len(forced) else np.flatnonzero(highest[group] >= 1.0)
        allowed.append(tuple(open_.tolist()))
    return Problem(own, low, high, step, np.flatnonzero(free), rules.groups, tuple(allowed))


class Branching:
    """Finds a person's best point on the grid, and a bound of all others.

    ``trade`` is that of the price, NaN for the least cost; ``required`` (1,) are then the worst-case log odds to reach.
    """

    def __init__(self, robust: BoundedProblems, problem: Problem, trade: float, required: Array | None) -> None:
        self._robust, self._root, self._trade, self._required = robust, problem, trade, required
        self._least = math.inf
        self._point: Array | None = None

    def run(self, most_nodes: int) -> tuple[Array, Array]:
        """The target (D,) and the numbers of ``Answers``: margin, cost, objective, bound, best."""
        number, open_, best = count(), list[tuple[float, int, Problem, Relaxed]](), math.inf
        root = self._relaxed(self._root)
        if root is None or math.isinf(root.bound):
            best = -math.inf if root is None else root.best
            return self._answer(math.inf, best)
        self._offer(root)
        heappush(open_, (root.bound, next(number), self._root, root))
        while open_ and open_[0][0] < self._least - CLOSED * (1.0 + abs(self._least)) and next(number) < 2 * most_nodes:
            _, _, problem, relaxed = heappop(open_)
            for child in self._children(problem, relaxed):
                found = self._relaxed(child)
                if found is not None and found.bound < self._least:
                    self._offer(found)
                    heappush(open_, (found.bound, next(number), child, found))
        proven = min(self._least, open_[0][0]) if open_ else self._least
        if self._point is None and not open_ and self._required is not None:
            best = float(self._required[0])
        return self._answer(proven, best)

    def _answer(self, bound: float, best: float) -> tuple[Array, Array]:
        point = self._root.own if self._point is None else self._point
        spent = float(np.abs(point - self._root.own) @ self._robust.cost)
        reached = self._robust.margin(point[np.newaxis]).item()
        return point, np.array([reached, spent, self._least, bound, best])

    def _relaxed(self, problem: Problem) -> Relaxed | None:
        """The optimum without steps; None where the bounds leave nothing."""
        free, robust = problem.free, self._robust
        if (problem.lowest > problem.highest)[free].any() or not all(problem.allowed):
            return None
        bases, edges = self._hulls(problem)
        near = np.clip(problem.own, problem.lowest, problem.highest)[free]
        spent = float(np.abs(near - problem.own[free]) @ robust.cost[free])
        bias = robust.bias
        for group, base in zip(problem.groups, bases, strict=True):
            bias += float(robust.weights[group[base]])
            spent += self._cost_of(group, base)
        gains, costs = np.array([edge.gain for edge in edges]), np.array([edge.cost for edge in edges])
        node = Node(
            np.concatenate([near, 0.0 * gains])[np.newaxis],
            np.concatenate([problem.lowest[free], 0.0 * gains])[np.newaxis],
            np.concatenate([problem.highest[free], 0.0 * gains + 1.0])[np.newaxis],
            np.concatenate([robust.weights[free], gains])[np.newaxis],
            np.concatenate([robust.cost[free], costs])[np.newaxis],
            np.array([bias]),
        )
        counts = np.arange(node.own.shape[1]) < len(free)
        targets, numbers = robust.solve_nodes(node, self._trade, self._required, counts, float(len(problem.groups)))
        margin, _, _, bound, best = numbers[0].tolist()
        if self._required is not None and margin < self._required[0] - SLACK:
            return Relaxed(targets[0][: len(free)], targets[0][len(free) :], bases, edges, math.inf, best)
        bound += spent * (1.0 if self._required is not None else self._trade)
        return Relaxed(targets[0][: len(free)], targets[0][len(free) :], bases, edges, bound, best)

    def _cost_of(self, group: Indices, category: int) -> float:
        """What another category costs: the column left, and the one entered."""
        old = int(self._root.own[group].argmax())
        return 0.0 if category == old else float(self._robust.cost[group[old]] + self._robust.cost[group[category]])

    def _hulls(self, problem: Problem) -> tuple[tuple[int, ...], list[Edge]]:
        """The cheapest category of each group, and the edges of the hulls of the others."""
        bases, edges = [], list[Edge]()
        for number, (group, allowed) in enumerate(zip(problem.groups, problem.allowed, strict=True)):
            points = sorted((self._cost_of(group, k), -float(self._robust.weights[group[k]]), k) for k in allowed)
            bases.append(points[0][2])
            cost, gain = points[0][0], -points[0][1]
            while True:
                # The steepest edge from here; of equals the longest.
                better = [((g + gain) / (c - cost), -c, g, k) for c, g, k in points if c > cost and -g > gain]
                if not better:
                    break
                _, far, g, k = min(better)
                edges.append(Edge(number, k, -g - gain, -far - cost))
                cost, gain = -far, -g
        return tuple(bases), edges

    def _children(self, problem: Problem, relaxed: Relaxed) -> list[Problem]:
        """The problem in two parts that leave out the relaxed optimum; none where it is on the grid."""
        free, step = problem.free, problem.step[problem.free]
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(step > 0.0, (relaxed.x - problem.own[free]) / step, 0.0)
        apart = np.abs(steps - np.rint(steps))
        weight = np.where(apart > WHOLE, apart * step * self._robust.cost[free], 0.0)
        shares = np.minimum(relaxed.shares, 1.0 - relaxed.shares)
        if len(shares) and shares.max() > WHOLE:
            edge = relaxed.edges[int(shares.argmax())]
            others = tuple(k for k in problem.allowed[edge.group] if k != edge.category)
            parts = [
                (*problem.allowed[: edge.group], own, *problem.allowed[edge.group + 1 :])
                for own in ((edge.category,), others)
            ]
            return [problem._replace(allowed=part) for part in parts]
        if not weight.max(initial=0.0) > 0.0:
            return []
        which = int(weight.argmax())
        column, below = int(free[which]), math.floor(steps[which])
        high, low = problem.highest.copy(), problem.lowest.copy()
        high[column] = problem.own[column] + below * problem.step[column]
        low[column] = problem.own[column] + (below + 1) * problem.step[column]
        return [problem._replace(highest=high), problem._replace(lowest=low)]

    def _offer(self, relaxed: Relaxed) -> None:
        """Round a relaxed optimum to the grid in some ways, and keep the best point so far."""
        if math.isinf(relaxed.bound):
            return
        rows = np.array([self._rounded(relaxed, way) for way in (np.rint, outward, np.trunc)])
        for _ in range(len(rows[0])):
            objective = self._objective(rows)
            row = rows[int(objective.argmin())]
            if not objective.min() < self._least - CLOSED:
                return
            self._least, self._point = float(objective.min()), row
            rows = self._neighbours(row)

    def _objective(self, rows: Array) -> Array:
        """The objective (R,) of allowed rows (R, D); infinite where the margin is missed."""
        spent = np.abs(rows - self._root.own) @ self._robust.cost
        reached = self._robust.margin(rows)
        if self._required is not None:
            return np.where(reached >= self._required[0] - SLACK, spent, math.inf)
        return np.asarray(np.logaddexp(0.0, -reached) + self._trade * spent)

    def _rounded(self, relaxed: Relaxed, way: Callable[[Any], Any]) -> Array:
        """A point on the grid near a relaxed optimum."""
        root = self._root
        row, step = root.own.copy(), root.step[root.free]
        size = np.where(step > 0.0, step, 1.0)
        steps = (relaxed.x - root.own[root.free]) / size
        whole = np.where(np.abs(steps - np.rint(steps)) <= WHOLE, np.rint(steps), way(steps))
        on_grid = np.clip(root.own[root.free] + whole * size, root.lowest[root.free], root.highest[root.free])
        row[root.free] = np.where(step > 0.0, on_grid, relaxed.x)
        categories = list(relaxed.bases)
        for share, edge in zip(relaxed.shares.tolist(), relaxed.edges, strict=True):
            if way(share) >= 1.0 or share >= 1.0 - WHOLE:
                categories[edge.group] = edge.category
        for group, category in zip(root.groups, categories, strict=True):
            row[group] = 0.0
            row[group[category]] = 1.0
        return row

    def _neighbours(self, row: Array) -> Array:
        """The rows that differ by one step, or by one category."""
        root, rows = self._root, [row]
        for column in root.free[root.step[root.free] > 0.0].tolist():
            for step in (-root.step[column], root.step[column]):
                other = row.copy()
                whole = round((row[column] + step - root.own[column]) / root.step[column])
                other[column] = root.own[column] + whole * root.step[column]
                if root.lowest[column] - WHOLE <= other[column] <= root.highest[column] + WHOLE:
                    rows.append(other)
        for group, allowed in zip(root.groups, root.allowed, strict=True):
            for category in allowed:
                other = row.copy()
                other[group] = 0.0
                other[group[category]] = 1.0
                rows.append(other)
        return np.array(rows)


def outward(steps: Array) -> Array:
    """The next whole numbers away from 0."""
    return np.asarray(np.copysign(np.ceil(np.abs(steps)), steps))
