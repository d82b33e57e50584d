"""A forest of extremely randomised regression trees that learns row by row."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ..contract import Array, State
from .pull_buffer import Rows

Integers = NDArray[np.int32]

SMALLEST_RANGE = 1e-7
"""Columns that differ by less within a node are not split there."""

SMALLEST_VARIANCE = 1e-12
"""Labels that vary less are alike."""

MOST_IN_BAG = 255
"""A row counts at most so often in one tree's bag."""


class Forest:
    """B trees, each grown on a bag drawn with replacement from the rows, and kept up to date between.

    A node is a leaf when its ``column`` is -1; otherwise rows up to and with its ``threshold`` in that column go to
    the node ``child``, the others to the one after it. ``weight``, ``total`` and ``squares`` are the sums of a leaf's
    weights, of its labels and of their squares.

    Parameters
    ----------
    trees
        B.
    memory
        The most rows there can be.
    bag
        The size of a bag, as a share of the rows.
    """

    ARRAYS: ClassVar[frozenset[str]] = frozenset({"column", "threshold", "child", "weight", "total", "squares", "bags"})
    """The arrays of its state that get longer with the rows."""

    def __init__(self, trees: int, memory: int, bag: float) -> None:
        shape = (trees, 2 * min(memory, math.ceil(bag * memory)))
        self._bag = bag
        self._nodes = np.ones(trees, dtype=np.int32)
        self._column = np.full(shape, -1, dtype=np.int32)
        self._threshold = np.zeros(shape)
        self._child = np.zeros(shape, dtype=np.int32)
        self._weight, self._total, self._squares = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._bags = np.zeros((memory, trees), dtype=np.uint8)
        self._every = np.arange(trees)

    def __len__(self) -> int:
        return len(self._nodes)

    def regrow(self, tree: int, rows: Rows, generator: np.random.Generator) -> None:
        """Grow a tree anew on a new bag of the rows."""
        count = len(rows)
        drawn = np.bincount(generator.integers(count, size=math.ceil(self._bag * count)), minlength=count)
        drawn = np.where(rows.kept, np.minimum(drawn, MOST_IN_BAG), 0)
        self._bags[:count, tree] = drawn
        chosen = np.flatnonzero(drawn)
        columns = np.ascontiguousarray(rows.pairs[chosen].T)
        weights = drawn[chosen].astype(np.float64)
        self._nodes[tree] = grow(
            columns,
            weights,
            weights * rows.rewards[chosen],
            weights * rows.rewards[chosen] ** 2,
            generator.random(columns.T.shape),
            self._column[tree],
            self._threshold[tree],
            self._child[tree],
            self._weight[tree],
            self._total[tree],
            self._squares[tree],
        )

    def add(self, slot: int, pair: Array, generator: np.random.Generator) -> None:
        """Let a new row of label 0, (C,), into the leaves it lies in, as often as bags would have drawn it."""
        drawn = np.minimum(generator.poisson(self._bag, len(self)), MOST_IN_BAG)
        self._bags[slot] = drawn
        self._weight[self._every, self._leaves(pair)] += drawn

    def relabel(self, slot: int, pair: Array, before: float, after: float) -> None:
        """Change the label of a row."""
        leaves, drawn = self._leaves(pair), self._bags[slot]
        self._total[self._every, leaves] += drawn * (after - before)
        self._squares[self._every, leaves] += drawn * (after * after - before * before)

    def remove(self, slot: int, pair: Array, label: float) -> None:
        """Take a row out of its leaves."""
        self.relabel(slot, pair, label, 0.0)
        self._weight[self._every, self._leaves(pair)] -= self._bags[slot]
        self._bags[slot] = 0

    def score(self, pairs: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the mixture of the leaves that each of the pairs (F, C) lies in, (F,) each."""
        mean, deviation = np.zeros(len(pairs)), np.zeros(len(pairs))
        nodes = (self._column, self._threshold, self._child, self._weight, self._total, self._squares)
        score(pairs, *nodes, mean, deviation)
        return mean, deviation

    def state(self, rows: int) -> dict[str, NDArray[Any]]:
        """The ``nodes`` of each tree (B,) and how often it drew each row, ``bags`` (n, B); then, of all nodes of all
        trees in one line, ``column``, ``threshold``, ``child``, ``weight``, ``total``, ``squares``."""
        used = self._used()
        return {
            "nodes": self._nodes.copy(),
            "bags": self._bags[:rows].copy(),
            "column": self._column[used],
            "threshold": self._threshold[used],
            "child": self._child[used],
            "weight": self._weight[used],
            "total": self._total[used],
            "squares": self._squares[used],
        }

    def check(self, state: State) -> None:
        """Raise ``ValueError`` when a state's trees do not have the nodes that it says."""
        nodes, most = state["nodes"], self._column.shape[1]
        if nodes.sum() != len(state["column"]) or nodes.min() < 1 or nodes.max() > most:
            raise ValueError(f"the state does not hold {len(nodes)} trees of 1 to {most} nodes: it is another's")

    def restore(self, state: State) -> None:
        """Continue from a state of as many trees and as much memory."""
        self._nodes = state["nodes"].copy()
        self._bags[:] = 0
        self._bags[: len(state["bags"])] = state["bags"]
        used = self._used()
        for name in ("column", "threshold", "child", "weight", "total", "squares"):
            getattr(self, f"_{name}")[used] = state[name]

    def _leaves(self, pair: Array) -> NDArray[np.intp]:
        found = np.empty(len(self), dtype=np.intp)
        leaves(pair, self._column, self._threshold, self._child, found)
        return found

    def _used(self) -> NDArray[np.bool_]:
        return np.arange(self._column.shape[1]) < self._nodes[:, None]


@compiled
def grow(
    values: Array,
    weights: Array,
    labels: Array,
    squared: Array,
    uniform: Array,
    column: Integers,
    threshold: Array,
    child: Integers,
    weight: Array,
    total: Array,
    squares: Array,
) -> int:
    """Grow one tree into its nodes (M,) and tell how many there are.

    Of n rows are given the values of each column (C, n), the weights above 0, and weight times label and weight times
    squared label, (n,) each. Every node draws a threshold for each column, uniform between the smallest and the largest
    value in the node (``uniform`` has numbers enough, (n, C)), and takes the one that lowers the variance of the labels
    most. Nodes whose labels or rows are all alike are leaves.
    """
    count = values.shape[1]
    order = np.arange(count)
    first, last = np.empty(max(2 * count, 1), np.int64), np.empty(max(2 * count, 1), np.int64)
    first[0], last[0] = 0, count
    nodes, drawn, node = 1, 0, 0
    while node < nodes:
        start, end = first[node], last[node]
        n, s, q = 0.0, 0.0, 0.0
        for i in range(start, end):
            row = order[i]
            n, s, q = n + weights[row], s + labels[row], q + squared[row]
        best, at = -1, 0.0
        if q * n - s * s > SMALLEST_VARIANCE * n * n:
            best, at = find_split(order, start, end, values, weights, labels, uniform, drawn, n, s)
        column[node], threshold[node], child[node] = best, at, 0
        weight[node], total[node], squares[node] = n, s, q
        if best >= 0:
            drawn += 1
            middle = part(order, start, end, values, best, at)
            child[node] = nodes
            first[nodes], last[nodes] = start, middle
            first[nodes + 1], last[nodes + 1] = middle, end
            nodes += 2
        node += 1
    return nodes


@compiled
def find_split(
    order: NDArray[np.intp],
    start: int,
    end: int,
    values: Array,
    weights: Array,
    labels: Array,
    uniform: Array,
    drawn: int,
    n: float,
    s: float,
) -> tuple[int, float]:
    """Draw a threshold for each column of a node, with the numbers ``uniform[drawn]``, and tell the column and the
    threshold that lower the variance of the labels most; the column is -1 when the rows are all alike.

    The node has the rows ``order[start:end]``, whose weights sum up to ``n`` and labels to ``s``; the rest as in
    ``grow``.
    """
    best, at, gain = -1, 0.0, -1.0
    for c in range(len(values)):
        own = values[c]
        low = high = own[order[start]]
        for i in range(start + 1, end):
            low, high = min(low, own[order[i]]), max(high, own[order[i]])
        if high <= low + SMALLEST_RANGE:
            continue
        cut = low + uniform[drawn, c] * (high - low)
        if cut >= high:
            cut = low
        left, left_total = 0.0, 0.0
        for i in range(start, end):
            row = order[i]
            goes = own[row] <= cut
            left += goes * weights[row]
            left_total += goes * labels[row]
        right_total = s - left_total
        proxy = left_total * left_total / left + right_total * right_total / (n - left)
        if proxy > gain:
            best, at, gain = c, cut, proxy
    return best, at


@compiled
def part(order: NDArray[np.intp], start: int, end: int, values: Array, column: int, threshold: float) -> int:
    """Bring the rows of a node that go left to the front of ``order[start:end]``, and tell where the others begin."""
    own = values[column]
    middle, back = start, end - 1
    while middle <= back:
        if own[order[middle]] <= threshold:
            middle += 1
        else:
            order[middle], order[back] = order[back], order[middle]
            back -= 1
    return middle


@compiled
def score(
    rows: Array,
    column: Integers,
    threshold: Array,
    child: Integers,
    weight: Array,
    total: Array,
    squares: Array,
    mean: Array,
    deviation: Array,
) -> None:
    """Mean and standard deviation (F,) of the mixture of the leaves that each of the rows (F, C) lies in."""
    trees, asked = len(column), len(rows)
    for b in range(trees):
        for f in range(asked):
            row = rows[f]
            node = 0
            c = column[b, 0]
            while c >= 0:
                node = child[b, node] + (row[c] > threshold[b, node])
                c = column[b, node]
            n = weight[b, node]
            if n > 0.0:
                mean[f] += total[b, node] / n
                deviation[f] += squares[b, node] / n
    for f in range(asked):
        mean[f] /= trees
        deviation[f] = np.sqrt(max(deviation[f] / trees - mean[f] * mean[f], 0.0))


@compiled
def leaves(row: Array, column: Integers, threshold: Array, child: Integers, found: NDArray[np.intp]) -> None:
    """The leaf of each tree that a row (C,) lies in, (B,)."""
    for b in range(len(column)):
        node = 0
        while column[b, node] >= 0:
            node = child[b, node] + (row[column[b, node]] > threshold[b, node])
        found[b] = node
