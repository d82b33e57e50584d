"""The bags of a label prior: which of its models were fitted to which subsample of the rows."""

from __future__ import annotations

from typing import NamedTuple

from ..contract import Array, Indices

SHARE = 2 / 3
"""The share of the rows in each bag, drawn without replacement, of each label alike."""
OF_BAGS = SHARE / (1.0 - SHARE)
"""The variance of what all rows say, as a multiple of that between bags: (n - d) / d, where each leaves d out."""

FEWEST_BAGS = 4
"""From fewer no variance is known."""


class Bags(NamedTuple):
    """B bags of an ensemble of T trees over D columns.

    ``tree`` (T,) is the bag of each tree. ``weights`` (B, D) are those of each bag's regression, and ``base`` (B,) is
    what each bag adds to the log odds of everybody: both add up to those of the ensemble.
    """

    tree: Indices
    weights: Array
    base: Array
