"""The targets of one person, feature by feature: the levels that each can reach, and in which steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contract import Array, Indices
from .plan_order import Levels


class Lattice(NamedTuple):
    """The levels of M movable features, of F in all.

    A target is a level of each movable feature. Those of feature m are ``first[m] : first[m + 1]``, the first of which
    is the person's own. A level is reached by ``steps`` (L,) steps in one direction, at most K; ``path`` (L, K) are the
    scaled values of the feature after each, ``size`` (L, K) by how much each changes it. Values of one-hot features are
    1, and so are their changes. ``features`` (M,) are the numbers of the movable features, ``own`` (F,) the person's
    scaled values of all.
    """

    features: Indices
    first: Indices
    steps: NDArray[np.int64]
    path: Array
    size: Array
    own: Array

    @property
    def levels(self) -> Levels:
        """All levels, as compiled functions take them."""
        return Levels(self.first, self.steps, self.path)

    @property
    def feature_of(self) -> Indices:
        """The movable feature of each level, (L,)."""
        return np.repeat(np.arange(len(self.features)), np.diff(self.first))

    def places(self, levels: Sequence[Indices]) -> Indices:
        """The numbers of the own level and these levels of each movable feature, in this order."""
        parts = [np.append(first, chosen) for first, chosen in zip(self.first[:-1], levels, strict=True)]
        return np.concatenate(parts).astype(np.intp) if parts else np.zeros(0, dtype=np.intp)

    def only(self, levels: Sequence[Indices]) -> Lattice:
        """The same with the own level and these of each movable feature."""
        kept = self.places(levels)
        first = np.concatenate([[0], np.cumsum([len(chosen) + 1 for chosen in levels])]).astype(np.intp)
        return self._replace(first=first, steps=self.steps[kept], path=self.path[kept], size=self.size[kept])


class FeatureLevels(NamedTuple):
    """The levels that one feature can reach besides the person's own.

    ``steps`` (n,), and ``path`` (n, at most K) with the scaled values after each step; those after the last are
    ignored. ``own`` is the scaled value before. Of a one-hot feature, or another ``category``, values and sizes are 1.
    """

    own: float
    steps: NDArray[np.int64]
    path: Array
    category: bool = False


def lattice_of(features: Sequence[int], levels: Sequence[FeatureLevels], own: Array) -> Lattice:
    """The lattice of movable ``features`` (M,) with these levels; ``own`` (F,) are the scaled values of all.

    Examples
    --------
    A number that goes from 0.2 to 0.5 in one step or to 0.8 in two, and a category.

    >>> number = FeatureLevels(0.2, np.array([1, 2]), np.array([[0.5, 0.0], [0.5, 0.8]]))
    >>> other = FeatureLevels(1.0, np.array([1]), np.ones((1, 1)), category=True)
    >>> lattice = lattice_of([0, 2], [number, other], np.array([0.2, 0.0, 1.0]))
    >>> lattice.first, lattice.steps, lattice.size.round(1).tolist()
    (array([0, 3, 5]), array([0, 1, 2, 0, 1]), [[0.0, 0.0], [0.3, 0.0], [0.3, 0.3], [0.0, 0.0], [1.0, 0.0]])
    """
    most = max([level.path.shape[1] for level in levels], default=1)
    rows = sum(len(level.steps) + 1 for level in levels)
    steps, path, size = np.zeros(rows, np.int64), np.zeros((rows, most)), np.zeros((rows, most))
    first, at = np.zeros(len(levels) + 1, np.intp), 0
    for number, level in enumerate(levels):
        count, width = level.path.shape
        below = slice(at + 1, at + 1 + count)
        steps[below] = level.steps
        taken = np.arange(width) < level.steps[:, np.newaxis]
        path[below, :width] = np.where(taken, level.path, 0.0)
        before = np.concatenate([np.full((count, 1), level.own), level.path[:, :-1]], axis=1)
        change = 1.0 if level.category else np.abs(level.path - before)
        size[below, :width] = np.where(taken, change, 0.0)
        at += count + 1
        first[number + 1] = at
    return Lattice(np.array(features, np.intp), first, steps, path, size, own)
