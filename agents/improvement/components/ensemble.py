"""The models of the label prior, on the scale of the log odds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...compiled import compiled
from ...sigmoid import logit
from ...trees import TreeSum
from ..contract import Array, Indices
from .bags import Bags

SMALLEST_SHARE = 1e-3
"""The share of a forest's labels counts as no closer to 0 and 1, where log odds have no end."""


class Ensemble(NamedTuple):
    """Boosters, forests and logistic regressions over D columns, on the scale of the log odds that they add up to.

    ``trees`` are those of all T trees. The leaves of those of ``group`` 0, the boosters, add to the log odds. The other
    groups (T,) are forests: the log odds of the sum of their leaves add to them, times ``forest_weight``. ``weights``
    (D,) are those of the regressions. ``bags`` say which models are of which bag; None where nobody knows it.
    """

    trees: TreeSum
    group: Indices
    weights: Array
    forest_weight: float
    bags: Bags | None = None

    @property
    def groups(self) -> int:
        """The number of groups, of which the first is that of the boosters."""
        return max(1, int(self.group.max()) + 1)

    def log_odds(self, X: Array) -> Array:
        """The log odds (n,) of encoded rows (n, D)."""
        total, sums = np.full(len(X), self.trees.base), np.zeros((self.groups, len(X)))
        for column, weight in enumerate(self.weights):
            total += weight * X[:, column]
        self.trees.walk.add_leaves(X, self.group, sums)
        add_up(sums, self.forest_weight, total)
        return total

    def by_bag(self, X: Array) -> Array | None:
        """The log odds of each bag's models alone, (B, n), of encoded rows (n, D); their mean is that of all.

        None where nobody knows which models are of which bag.
        """
        if self.bags is None:
            return None
        of_trees, weights, base = self.bags.tree, self.bags.weights, self.bags.base
        number = len(base)
        total, sums = np.repeat(base[:, np.newaxis], len(X), axis=1), np.zeros((2 * number, len(X)))
        for column, of_bags in enumerate(weights.T):
            total += of_bags[:, np.newaxis] * X[:, column]
        self.trees.walk.add_leaves(X, np.where(self.group == 0, of_trees, number + of_trees), sums)
        total += sums[:number]
        if self.forest_weight:
            total += self.forest_weight * logit(sums[number:], SMALLEST_SHARE)
        return number * total


@compiled
def add_up(sums: Array, forest_weight: float, total: Array) -> None:
    """Add to ``total`` (n,) what the groups' ``sums`` (G, n) are worth in log odds.

    A product of odds needs one logarithm for all forests. It stays in the range of numbers for dozens of them.
    """
    for row in range(len(total)):
        odds = 1.0
        for g in range(1, len(sums)):
            share = min(max(sums[g, row], SMALLEST_SHARE), 1.0 - SMALLEST_SHARE)
            odds *= share / (1.0 - share)
        total[row] += sums[0, row] + forest_weight * math.log(odds)
