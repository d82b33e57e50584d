"""Random forests scored by compiled code, bit for bit as scikit-learn scores them.

``RandomForestClassifier.predict_proba`` calls every tree, which takes milliseconds for a single row. Here the nodes of
all trees are in flat arrays, and one compiled walk descends them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..trees import LEAF, Indices, Splits, TreeSum, down_to_float32, have_shared


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
        roots: Indices = np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.intp)
        leaf = np.concatenate([tree.children_left == LEAF for tree in trees])
        feature = np.where(leaf, LEAF, np.concatenate([tree.feature for tree in trees]))
        left = np.concatenate([tree.children_left + root for tree, root in zip(trees, roots, strict=True)])
        right = np.concatenate([tree.children_right + root for tree, root in zip(trees, roots, strict=True)])
        nodes = np.stack([feature, left, right], axis=1).astype(np.int32)
        threshold = down_to_float32(np.concatenate([tree.threshold for tree in trees]))
        shares = np.concatenate([tree.value[:, 0, 1] for tree in trees])
        self._shares = TreeSum(roots, nodes, threshold, shares, 0.0, logistic=False)

    def score(self, X: Array) -> Array:
        """The probability of class 1, (n,)."""
        return self._mean(self._shares.total(X))

    def splits(self, columns: int) -> Splits:
        """Where rows of so many columns are parted."""
        return Splits(self._shares, columns, self._mean)

    def as_sum(self) -> TreeSum:
        """The trees as a sum: the same scores but for the last bit."""
        return replace(self._shares, value=self._shares.value / len(self._shares.roots))

    def _mean(self, total: Array) -> Array:
        return total / len(self._shares.roots)


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
    if have_shared(np.stack([left[inner], right[inner]])):
        raise ValueError(f"tree {number} has a node that is the child of two")
    if not ((tree.feature[inner] >= 0) & (tree.feature[inner] < columns)).all():
        raise ValueError(f"tree {number} asks for a column that does not exist")
