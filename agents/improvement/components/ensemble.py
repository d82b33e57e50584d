"""The models of the label prior, on the scale of the log odds."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...compiled import compiled
from ...trees import TreeSum
from ..contract import Array, Indices

SMALLEST_SHARE = 1e-3
"""The share of a forest's labels counts as no closer to 0 and 1, where log odds have no end."""


class Ensemble(NamedTuple):
    """Boosters, forests and logistic regressions over D columns, on the scale of the log odds that they add up to.

    ``trees`` are those of all T trees. The leaves of those of ``group`` 0, the boosters, add to the log odds. The other
    groups (T,) are forests: the log odds of the sum of their leaves add to them, times ``forest_weight``. ``weights``
    (D,) are those of the regressions.
    """

    trees: TreeSum
    group: Indices
    weights: Array
    forest_weight: float


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
