"""Random forests scored by compiled code, bit for bit as scikit-learn scores them.

``RandomForestClassifier.predict_proba`` calls every tree, which takes milliseconds for a single row. Here the nodes of
all trees are in flat arrays, and one compiled loop descends them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agents.compiled import compiled

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Nodes = NDArray[np.int32]

LEAF = -1
"""The child of a leaf in scikit-learn's trees."""


class Forest:
    """A fitted binary ``RandomForestClassifier`` or ``ExtraTreesClassifier``.

    ``score(X)`` takes (n, D) and returns (n,): the mean over trees of the share of class 1 in the leaf, equal to
    ``predict_proba(X)[:, 1]`` bit for bit. NaN is not supported. Raises ValueError when the arrays of a tree do not
    form a tree over D columns.
    """

    def __init__(self, estimator: Any, columns: int) -> None:
        trees = [tree.tree_ for tree in estimator.estimators_]
        for number, tree in enumerate(trees):
            _check(tree, number, columns)
        sizes = [tree.node_count for tree in trees]
        self._roots: Indices = np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.intp)
        leaf = np.concatenate([tree.children_left == LEAF for tree in trees])
        feature = np.where(leaf, LEAF, np.concatenate([tree.feature for tree in trees]))
        left = self._renumbered(tree.children_left for tree in trees)
        right = self._renumbered(tree.children_right for tree in trees)
        # What one step of a descent reads lies together.
        self._nodes: Nodes = np.stack([feature, left, right], axis=1).astype(np.int32)
        self._threshold = _down_to_float32(np.concatenate([tree.threshold for tree in trees]))
        self._value: Floats = np.concatenate([tree.value[:, 0, 1] for tree in trees])

    def score(self, X: Floats) -> Floats:
        """The probability of class 1, (n,)."""
        rows = np.ascontiguousarray(X, dtype=np.float32)
        total = np.zeros(len(rows))
        add_leaves(rows, self._roots, self._nodes, self._threshold, self._value, total)
        return total / len(self._roots)

    def _renumbered(self, children: Iterable[Indices]) -> Indices:
        """Nodes numbered within their tree, renumbered within the forest."""
        return np.concatenate([nodes + root for nodes, root in zip(children, self._roots, strict=True)])


@compiled
def add_leaves(
    rows: NDArray[np.float32],
    roots: Indices,
    nodes: Nodes,
    threshold: NDArray[np.float32],
    value: Floats,
    total: Floats,
) -> None:
    """Add to ``total`` (n,) the value of the leaf of every tree for each of ``rows`` (n, D), tree by tree.

    A node of ``nodes`` (N, 3) is its column, negative in a leaf, and its left and right child.

    Rows that mostly agree, such as variants of one person, cost less: in each tree the row of the most common values
    is followed to its leaf, and the others are followed only from where they leave its path.
    """
    common = most_common(rows)
    differing, counts = rows_that_differ(rows, common)
    leaves_to = np.full(len(rows), -1, np.int32)
    for root in roots:
        node = root
        while nodes[node, 0] >= 0:
            column = nodes[node, 0]
            holds = common[column] <= threshold[node]
            for j in range(counts[column]):
                i = differing[column, j]
                if leaves_to[i] < 0 and (rows[i, column] <= threshold[node]) != holds:
                    leaves_to[i] = nodes[node, 2] if holds else nodes[node, 1]
            node = nodes[node, 1] if holds else nodes[node, 2]
        for i in range(len(rows)):
            own = leaves_to[i]
            if own < 0:
                total[i] += value[node]
                continue
            leaves_to[i] = -1
            while nodes[own, 0] >= 0:
                own = nodes[own, 1] if rows[i, nodes[own, 0]] <= threshold[own] else nodes[own, 2]
            total[i] += value[own]


@compiled
def most_common(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The value of more than half of the rows (n, D) in each column, (D,); where there is none, any row's value.

    This is the majority vote of Boyer and Moore (1991): one pass without counting values.
    """
    found = np.zeros(rows.shape[1], np.float32)
    for column in range(rows.shape[1]):
        votes = 0
        for i in range(len(rows)):
            if votes == 0:
                found[column] = rows[i, column]
            votes += 1 if rows[i, column] == found[column] else -1
    return found


@compiled
def rows_that_differ(rows: NDArray[np.float32], common: NDArray[np.float32]) -> tuple[Nodes, Indices]:
    """For each column the numbers of the rows that have another value than ``common`` (D,), and how many they are."""
    differing = np.empty(rows.shape[::-1], np.int32)
    counts = np.zeros(rows.shape[1], np.intp)
    for i in range(len(rows)):
        for column in range(rows.shape[1]):
            if rows[i, column] != common[column]:
                differing[column, counts[column]] = i
                counts[column] += 1
    return differing, counts


def _check(tree: Any, number: int, columns: int) -> None:
    """Raise ValueError unless children come after their parent and inside the tree, so that every descent ends."""
    left, right = tree.children_left, tree.children_right
    count, inner = tree.node_count, left != LEAF
    parents = np.arange(count)[inner]
    if count < 1 or len(left) != count or tree.n_features != columns or tree.value.shape != (count, 1, 2):
        raise ValueError(f"tree {number} has {count} nodes over {tree.n_features} columns, not a tree over {columns}")
    for child in (left[inner], right[inner]):
        if not ((child > parents) & (child < count)).all():
            raise ValueError(f"tree {number} has a node whose child does not come after it")
    if not ((tree.feature[inner] >= 0) & (tree.feature[inner] < columns)).all():
        raise ValueError(f"tree {number} asks for a column that does not exist")


def _down_to_float32(threshold: Floats) -> NDArray[np.float32]:
    """For a float32 x, x <= threshold exactly when x <= the largest float32 not above it."""
    near = threshold.astype(np.float32)
    below: NDArray[np.float32] = np.where(near > threshold, np.nextafter(near, np.float32(-np.inf)), near)
    return below
