"""The models of the label prior, on the scale of the log odds."""

from __future__ import annotations

from typing import NamedTuple

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
