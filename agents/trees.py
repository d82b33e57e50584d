"""Sums of trees in flat arrays: boosters and forests of any library, scored by one compiled walk.

The score of a row is ``link(base + the value of its leaf in every tree)``. The link is the logistic function, or none
where the leaves hold shares of a probability.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import Array
from .arrays import Indices as Indices
from .rounding import to_significant
from .sigmoid import sigmoid
from .tree_walk import Boxes as Boxes
from .tree_walk import Nodes as Nodes
from .tree_walk import Thresholds as Thresholds
from .tree_walk import Walk

Ints = NDArray[np.int64]

LEAF = -1
"""The column and the child of a leaf."""
MOST_DIGITS = 9
"""Of scores that are rounded."""


class Tree(NamedTuple):
    """One tree of N nodes, the root first and every child after its parent.

    ``feature`` is the column that an inner node asks for, ``LEAF`` in a leaf. A row goes left where its column is at
    most ``threshold``. ``value`` counts in leaves only.
    """

    feature: Ints
    left: Ints
    right: Ints
    threshold: Thresholds
    value: Array


@dataclass(frozen=True)
class TreeSum:
    """Trees in flat arrays, and how their sum becomes a score.

    ``roots`` (T,) are the trees' first nodes. A row of ``nodes`` (N, 3) is the node's column, negative in a leaf, and
    its left and right child. The type of ``threshold`` (N,), float32 or float64, is that in which rows are compared.
    Scores are rounded to ``digits`` significant ones, None for trees whose leaves are not rounded themselves.
    """

    roots: Indices
    nodes: Nodes
    threshold: Thresholds
    value: Array
    base: float
    logistic: bool
    digits: int | None = None

    def score(self, X: Array) -> Array:
        """The probability of the desired class, (n,), of encoded rows (n, D) without NaN."""
        return self.link(self.total(X))

    def link(self, total: Array) -> Array:
        """The scores of totals, both (n,)."""
        # Shares of a probability are rounded, so that their sum may be just above 1.
        scores = sigmoid(total) if self.logistic else total.clip(0.0, 1.0)
        return scores if self.digits is None else to_significant(scores, self.digits)

    def splits(self, columns: int) -> Splits:
        """Where rows of so many columns are parted."""
        return Splits(self, columns, self.link)

    @cached_property
    def walk(self) -> Walk:
        """The trees as they are walked."""
        return Walk.from_trees(self.roots, self.nodes, self.threshold, self.value)

    def total(self, X: Array) -> Array:
        """The base and the leaves of encoded rows (n, D), added up in the order of the trees, (n,)."""
        total = np.full(len(X), self.base)
        self.walk.add_leaves(X, np.zeros(len(self.roots), np.intp), total[np.newaxis])
        return total

    def mapped(self, slope: float, intercept: float, *, logistic: bool) -> TreeSum:
        """The trees whose sum is ``slope`` times this one's, plus ``intercept``."""
        base = slope * self.base + intercept
        return replace(self, value=slope * self.value, base=base, logistic=logistic)


@dataclass(frozen=True)
class Splits:
    """Where the score of a model of ``trees`` over some ``columns`` may change, and what it is on grids.

    ``link`` makes scores of the trees' totals, both (n,).
    """

    trees: TreeSum
    columns: int
    link: Callable[[Array], Array]

    @cached_property
    def by_column(self) -> Sequence[Array]:
        """The values beyond which a score may be another one, ascending and each once: a row at a value is on its lower
        side."""
        column, threshold = self.trees.nodes[:, 0], self.trees.threshold
        return tuple([np.unique(threshold[column == number]).astype(np.float64) for number in range(self.columns)])

    def score(self, boxes: Boxes) -> Array:
        """The scores of the n points of some grids, (n,), bit for bit those of their rows."""
        total = np.full(boxes.first[-1], self.trees.base)
        self.trees.walk.add_leaves_of(boxes, total)
        return self.link(total)


def tree_sum(trees: Sequence[Tree], base: float, *, logistic: bool) -> TreeSum:
    """The sum of trees, in flat arrays; their thresholds are of one type."""
    if not trees:
        raise ValueError("it has no trees")
    roots = np.cumsum([0, *(len(tree.feature) for tree in trees[:-1])])
    children = [[tree.left + root, tree.right + root] for tree, root in zip(trees, roots, strict=True)]
    feature = np.concatenate([tree.feature for tree in trees])
    left, right = (np.concatenate([pair[side] for pair in children]) for side in (0, 1))
    nodes = np.stack([feature, left, right], axis=1)
    nodes[feature == LEAF, 1:] = 0
    if nodes.min() < LEAF or nodes.max() > np.iinfo(np.int32).max:
        raise ValueError("its trees have numbers of columns or nodes that are out of range")
    return TreeSum(
        roots.astype(np.intp),
        nodes.astype(np.int32),
        np.concatenate([tree.threshold for tree in trees]),
        np.concatenate([tree.value for tree in trees]).astype(np.float64),
        base,
        logistic,
    )


def joined(sums: Sequence[TreeSum], base: float) -> TreeSum:
    """The trees of several sums one after the other, in one sum with this ``base`` and the logistic link."""
    starts = np.cumsum([0, *(len(trees.nodes) for trees in sums[:-1])])
    nodes = [trees.nodes.copy() for trees in sums]
    for tree, start in zip(nodes, starts.tolist(), strict=True):
        tree[tree[:, 0] >= 0, 1:] += start
    return TreeSum(
        np.concatenate([trees.roots + start for trees, start in zip(sums, starts, strict=True)]),
        np.concatenate(nodes),
        np.concatenate([trees.threshold for trees in sums]),
        np.concatenate([trees.value for trees in sums]),
        base,
        logistic=True,
    )


def check_trees(trees: TreeSum, columns: int) -> TreeSum:
    """The trees, when every descent ends inside the arrays and asks for one of ``columns``; else raise ValueError."""
    roots, nodes, count = trees.roots, trees.nodes, len(trees.nodes)
    if nodes.shape != (count, 3) or trees.threshold.shape != (count,) or trees.value.shape != (count,):
        raise ValueError("the arrays of its trees have different lengths")
    if roots.ndim != 1 or not len(roots) or roots[0] != 0 or roots[-1] >= count or (np.diff(roots) < 1).any():
        raise ValueError("the roots of its trees are not in ascending order")
    if not (np.isfinite(trees.value).all() and np.isfinite(trees.base)) or np.isnan(trees.threshold).any():
        raise ValueError("its trees hold numbers that are not finite")
    inner = nodes[:, 0] >= 0
    ends = np.repeat([*roots[1:], count], np.diff([*roots, count]))[inner, np.newaxis]
    children = nodes[inner, 1:]
    if not ((children > np.flatnonzero(inner)[:, np.newaxis]) & (children < ends)).all():
        raise ValueError("its trees have a node whose child does not come after it in the same tree")
    if have_shared(children):
        raise ValueError("its trees have a node that is the child of two")
    if (nodes[:, 0] >= columns).any():
        raise ValueError(f"its trees ask for column {nodes[:, 0].max()}, the spec has {columns}")
    return trees


def have_shared(children: NDArray[np.integer[Any]]) -> bool:
    """Whether a node is twice among the children, so that a walk from both would see it twice."""
    return bool((np.bincount(children.ravel()) > 1).any())


def down_to_float32(threshold: Array) -> NDArray[np.float32]:
    """The largest float32 not above each threshold: for a float32 x, x <= threshold exactly when x <= this one."""
    near = threshold.astype(np.float32)
    return np.where(near > threshold, np.nextafter(near, np.float32(-np.inf)), near)


def dump_trees(trees: TreeSum) -> bytes:
    """The arrays as a compressed npz file; equal trees give equal bytes."""
    file = io.BytesIO()
    digits = {} if trees.digits is None else {"digits": np.array(trees.digits, dtype=np.int64)}
    np.savez_compressed(
        file,
        allow_pickle=False,
        roots=trees.roots.astype(np.int64),
        nodes=trees.nodes,
        threshold=trees.threshold,
        value=trees.value,
        base=np.float64(trees.base),
        logistic=np.bool_(trees.logistic),
        **digits,
    )
    return file.getvalue()


def load_trees(content: bytes, columns: int) -> TreeSum:
    """The trees of an npz file.

    Raises an error when it is no such file, or its trees are not trees over ``columns``.
    """
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        digits = digits_in(file)
        arrays = {name: file[name] for name in LAYOUT}
    for name, (dimensions, types) in LAYOUT.items():
        array = arrays[name]
        if array.ndim != dimensions or array.dtype.name not in types:
            raise ValueError(f"array {name} is of {array.dtype.name} with {array.ndim} dimensions")
    roots, base, logistic = arrays["roots"].astype(np.intp), float(arrays["base"]), bool(arrays["logistic"])
    trees = TreeSum(roots, arrays["nodes"], arrays["threshold"], arrays["value"], base, logistic, digits)
    return check_trees(trees, columns)


def digits_in(arrays: Mapping[str, NDArray[Any]]) -> int | None:
    """The digits of scores by the array ``digits`` of a file; None where it has none, as that of trees of float64.

    Raises ValueError for anything but a number of 1 to 9.
    """
    if "digits" not in arrays:
        return None
    digits = arrays["digits"]
    if digits.ndim or digits.dtype != np.int64 or not 1 <= digits <= MOST_DIGITS:
        raise ValueError(f"its scores are rounded to {digits} digits, not 1 to {MOST_DIGITS}")
    return int(digits)


LAYOUT: Mapping[str, tuple[int, Sequence[str]]] = {
    "roots": (1, ["int64"]),
    "nodes": (2, ["int32"]),
    "threshold": (1, ["float32", "float64"]),
    "value": (1, ["float64"]),
    "base": (0, ["float64"]),
    "logistic": (0, ["bool"]),
}
"""The arrays of an npz file: their dimensions and types."""
