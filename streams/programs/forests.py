"""Random forests scored fast, one row or many, bit for bit as scikit-learn scores them.

``RandomForestClassifier.predict_proba`` calls every tree, which takes milliseconds for a single row. Here the nodes of
all trees are in flat arrays, and one numpy operation moves every tree one level down.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

FEW_ROWS = 8
"""Up to this number of rows, descending all trees at once is faster than calling scikit-learn tree by tree."""

LEVELS_BETWEEN_CHECKS = 6

LEAF = -1
"""The child of a leaf in scikit-learn's trees."""


class Forest:
    """A fitted binary ``RandomForestClassifier`` or ``ExtraTreesClassifier``.

    ``score(X)`` takes (n, D) and returns (n,): the mean over trees of the share of class 1 in the leaf, equal to
    ``predict_proba(X)[:, 1]`` bit for bit. NaN is not supported. Raises ValueError when the arrays of a tree do not
    form a tree over D columns.
    """

    def __init__(self, estimator: Any, columns: int) -> None:
        self._trees = [tree.tree_ for tree in estimator.estimators_]
        for number, tree in enumerate(self._trees):
            _check(tree, number, columns)
        sizes = [tree.node_count for tree in self._trees]
        self._roots: Indices = np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.intp)
        leaf = np.concatenate([tree.children_left == LEAF for tree in self._trees])
        nodes = np.arange(leaf.size)
        left = np.where(leaf, nodes, self._renumbered(tree.children_left for tree in self._trees))
        right = np.where(leaf, nodes, self._renumbered(tree.children_right for tree in self._trees))
        # A leaf is its own child, so that trees of different depth can descend together. Entry 2 i is the child of
        # node i when the comparison fails, 2 i + 1 when it holds.
        self._children: Indices = np.stack([right, left], axis=1).reshape(-1).astype(np.intp)
        self._leaf = leaf
        feature = np.concatenate([tree.feature for tree in self._trees])
        self._feature: Indices = np.where(leaf, 0, feature).astype(np.intp)
        self._threshold = _down_to_float32(np.concatenate([tree.threshold for tree in self._trees]))
        self._value: Floats = np.concatenate([tree.value[:, 0, 1] for tree in self._trees])

    def score(self, X: Floats) -> Floats:
        """The probability of class 1, (n,)."""
        rows = np.ascontiguousarray(X, dtype=np.float32)
        total = self._sum_at_once(rows) if len(rows) <= FEW_ROWS else self._sum_by_tree(rows)
        return total / len(self._trees)

    def _sum_at_once(self, rows: NDArray[np.float32]) -> Floats:
        """The sum over trees, (n,), all trees at once."""
        # Added tree by tree from the first, as scikit-learn does: ``sum`` would add in pairs.
        total: Floats = np.add.accumulate(self._value[self._descend(rows)], axis=1)[:, -1]
        return total

    def _sum_by_tree(self, rows: NDArray[np.float32]) -> Floats:
        """The sum over trees, (n,), with the leaves from scikit-learn's compiled code."""
        total = np.zeros(len(rows))
        for tree, root in zip(self._trees, self._roots, strict=True):
            total += self._value[tree.apply(rows) + root]
        return total

    def _renumbered(self, children: Iterable[Indices]) -> Indices:
        """Nodes numbered within their tree, renumbered within the forest."""
        return np.concatenate([nodes + root for nodes, root in zip(children, self._roots, strict=True)])

    def _descend(self, rows: NDArray[np.float32]) -> Indices:
        """The leaf of every row in every tree, (n, trees), all trees at once."""
        n, columns = rows.shape
        values = rows.reshape(-1)
        node = np.tile(self._roots, n)
        start = np.repeat(np.arange(n) * columns, len(self._trees))
        while not self._leaf.take(node).all():
            for _ in range(LEVELS_BETWEEN_CHECKS):
                holds = values.take(start + self._feature.take(node)) <= self._threshold.take(node)
                node = self._children.take(2 * node + holds)
        return node.reshape(n, len(self._trees))


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
