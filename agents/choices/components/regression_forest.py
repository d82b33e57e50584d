"""A forest of extremely randomised regression trees that learns row by row."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import Indices, Mask
from ...compiled import compiled
from ..contract import Array, State
from .pull_buffer import PullBuffer

Integers = NDArray[np.int32]
Nodes = tuple[Integers, Array, Integers, Array, Array, Array]
"""The arrays ``NODE_ARRAYS``: (M,) of a tree, (B, M) of a forest."""
NODE_ARRAYS = ("column", "threshold", "child", "weight", "total", "squares")
Sample = tuple[Array, Array, Array, Array]
"""A tree's n rows: the values of each column (C, n), the weights above 0, and weight times label and weight times
squared label, (n,)."""

SMALLEST_RANGE = 1e-7
"""Columns that differ by less within a node are not split there."""

SMALLEST_VARIANCE = 1e-12
"""Labels with a smaller variance count as equal."""

MOST_IN_BAG = 255
"""The most times that a row counts in one tree's bag."""


class OnlineForest:
    """B trees, each grown on a bag drawn with replacement from the rows, and updated row by row in between.

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

    ARRAYS: ClassVar[frozenset[str]] = frozenset({*NODE_ARRAYS, "bags"})
    """The arrays of its state that get longer with the rows."""

    def __init__(self, trees: int, memory: int, bag: float) -> None:
        shape = (trees, 2 * min(memory, math.ceil(bag * memory)))
        self._bag = bag
        self._nodes = np.ones(trees, dtype=np.int32)
        self._column, child = np.full(shape, -1, dtype=np.int32), np.zeros(shape, dtype=np.int32)
        self._weight, self._total, self._squares = np.zeros((3, *shape))
        self._all: Nodes = self._column, np.zeros(shape), child, self._weight, self._total, self._squares
        self._bags = np.zeros((memory, trees), dtype=np.uint8)
        self._every = np.arange(trees)

    def __len__(self) -> int:
        return len(self._nodes)

    def regrow(self, tree: int, rows: PullBuffer, generator: np.random.Generator) -> None:
        """Replace a tree by one grown on a new bag of the rows."""
        count = len(rows)
        drawn = np.bincount(generator.integers(count, size=math.ceil(self._bag * count)), minlength=count)
        drawn = np.where(rows.active, np.minimum(drawn, MOST_IN_BAG), 0)
        self._bags[:count, tree] = drawn
        chosen = np.flatnonzero(drawn)
        columns = np.ascontiguousarray(rows.pairs[chosen].T)
        weights, rewards = drawn[chosen].astype(np.float64), rows.rewards[chosen]
        column, threshold, child, weight, total, squares = self._all
        self._nodes[tree] = grow(
            (columns, weights, weights * rewards, weights * rewards**2),
            generator.random(columns.T.shape),
            (column[tree], threshold[tree], child[tree], weight[tree], total[tree], squares[tree]),
        )

    def add(self, slot: int, pair: Array, generator: np.random.Generator) -> None:
        """Add a new row of label 0, (C,), to its leaves, as often as bags would have drawn it."""
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
        score(pairs, self._all, mean, deviation)
        return mean, deviation

    def state(self, rows: int) -> dict[str, NDArray[Any]]:
        """The number of ``nodes`` of each tree (B,); how often each tree drew each row, ``bags`` (n, B); then, of the
        nodes of all trees one after the other, ``column``, ``threshold``, ``child``, ``weight``, ``total`` and
        ``squares``."""
        used = self._used()
        of_nodes = {name: array[used] for name, array in self._named.items()}
        return {"nodes": self._nodes.copy(), "bags": self._bags[:rows].copy(), **of_nodes}

    def check(self, state: State) -> None:
        """Raise ``ValueError`` when the node arrays of a state do not fit its ``nodes``."""
        nodes, most = state["nodes"], self._column.shape[1]
        if nodes.sum() != len(state["column"]) or nodes.min() < 1 or nodes.max() > most:
            raise ValueError(f"the state does not hold {len(nodes)} trees of 1 to {most} nodes: it is another's")

    def restore(self, state: State) -> None:
        """Continue from a state of the same number of trees and the same memory."""
        self._nodes = state["nodes"].copy()
        self._bags[:] = 0
        self._bags[: len(state["bags"])] = state["bags"]
        used = self._used()
        for name, array in self._named.items():
            array[used] = state[name]

    def _leaves(self, pair: Array) -> Indices:
        reached = np.empty(len(self), dtype=np.intp)
        leaves(pair, self._all, reached)
        return reached

    @property
    def _named(self) -> dict[str, NDArray[Any]]:
        arrays: list[NDArray[Any]] = [*self._all]
        return dict(zip(NODE_ARRAYS, arrays, strict=True))

    def _used(self) -> Mask:
        return np.arange(self._column.shape[1]) < self._nodes[:, None]


@compiled
def grow(sample: Sample, uniform: Array, tree: Nodes) -> int:
    """Grow one tree into its nodes (M,), and return how many there are.

    Every node draws a threshold for each column, uniform between the smallest and the largest value in the node, from
    the numbers of ``uniform`` (n, C). It takes the one that lowers the variance of the labels most. A node whose labels
    or rows are all equal is a leaf.
    """
    values, weights, labels, squared = sample
    column, threshold, child, weight, total, squares = tree
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
            best, at = find_split(order[start:end], values, weights, labels, uniform[drawn], n, s)
        column[node], threshold[node], child[node] = best, at, 0
        weight[node], total[node], squares[node] = n, s, q
        if best >= 0:
            drawn += 1
            middle = start + partition(order[start:end], values[best], at)
            child[node] = nodes
            first[nodes], last[nodes] = start, middle
            first[nodes + 1], last[nodes + 1] = middle, end
            nodes += 2
        node += 1
    return nodes


@compiled
def find_split(
    members: Indices, values: Array, weights: Array, labels: Array, uniform: Array, n: float, s: float
) -> tuple[int, float]:
    """Draw a threshold for each column with the numbers ``uniform`` (C,), and find the column and threshold that lower
    the variance of the labels most; the column is -1 when the rows are all equal.

    ``members`` are the node's rows, whose weights sum up to ``n`` and labels to ``s``; the rest is as in ``grow``.
    """
    best, at, gain = -1, 0.0, -1.0
    for c in range(len(values)):
        column = values[c]
        low = high = column[members[0]]
        for row in members[1:]:
            low, high = min(low, column[row]), max(high, column[row])
        if high <= low + SMALLEST_RANGE:
            continue
        cut = low + uniform[c] * (high - low)
        if cut >= high:
            cut = low
        left, left_total = 0.0, 0.0
        for row in members:
            goes_left = column[row] <= cut
            left += goes_left * weights[row]
            left_total += goes_left * labels[row]
        right_total = s - left_total
        proxy = left_total * left_total / left + right_total * right_total / (n - left)
        if proxy > gain:
            best, at, gain = c, cut, proxy
    return best, at


@compiled
def partition(members: Indices, values: Array, threshold: float) -> int:
    """Move the rows of a node that go left to the front of ``members``, and return how many there are."""
    middle, back = 0, len(members) - 1
    while middle <= back:
        if values[members[middle]] <= threshold:
            middle += 1
        else:
            members[middle], members[back] = members[back], members[middle]
            back -= 1
    return middle


@compiled
def score(rows: Array, forest: Nodes, mean: Array, deviation: Array) -> None:
    """Add the mean and standard deviation of the mixture of each row's leaves to ``mean`` and ``deviation`` (F,), which
    are 0; ``rows`` (F, C)."""
    column, threshold, child, weight, total, squares = forest
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
def leaves(row: Array, forest: Nodes, reached: Indices) -> None:
    """Put the leaf that a row (C,) reaches in each tree into ``reached`` (B,)."""
    column, threshold, child = forest[0], forest[1], forest[2]
    for b in range(len(column)):
        node = 0
        while column[b, node] >= 0:
            node = child[b, node] + (row[column[b, node]] > threshold[b, node])
        reached[b] = node
