"""The association of a column with the label."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .columns import Column, Floats, Mask

LEAK = 0.98
"""A column that alone ranks rows at least so well (area under the ROC curve) is no feature but the label itself."""
FEWEST_ROWS = 10
"""Rows needed with the desired label, and without, to say anything."""
MOST_GROUPS = 50
ROWS_A_GROUP = 20
STRONG = 0.05
"""Distance of the area under the curve from 0.5 that is worth a guess."""
STANDARD_ERRORS = 3.0
CONTRADICTING = 0.02
"""Distance, beyond the same standard errors, that is enough to doubt a guess from a name."""
BINS = 5
DIP = 0.03
"""How much the share of desired labels may fall from one fifth of the rows to the next and still count as rising."""


def is_leak(column: Column, desired: Mask) -> bool:
    """Whether a column alone tells the label (n,) almost always: by its value, or by having one at all."""
    return area_alone(column, desired) >= LEAK


def area_alone(column: Column, desired: Mask) -> float:
    """How well a column alone ranks the rows by the label (n,): the area under the ROC curve, 0.5 for few rows."""
    if min(desired.sum(), (~desired).sum()) < FEWEST_ROWS:
        return 0.5
    groups = _groups(column)
    sums, counts = np.bincount(groups, weights=desired), np.bincount(groups)
    # Each row is judged by the others of its group, so that a group of one row tells nothing.
    others = counts[groups] - 1
    share = np.where(others > 0, (sums[groups] - desired) / np.maximum(others, 1), desired.mean())
    return _area(share, desired)


def trend(column: Column, desired: Mask, least: float = STRONG) -> int:
    """1 when higher numbers or levels go with the desired label, strongly and all the way; -1 when lower do; else 0.

    ``least`` is the distance of the area under the curve from 0.5 that counts.
    """
    values, labels = column.ranks, desired[column.given]
    wanted, others = int(labels.sum()), int((~labels).sum())
    if not len(values) or min(wanted, others) < FEWEST_ROWS:
        return 0
    distance = _area(values, labels) - 0.5
    if abs(distance) < max(least, STANDARD_ERRORS * _standard_error(values, wanted, others)):
        return 0
    sign = 1 if distance > 0 else -1
    return sign if _rises(sign * values, labels) else 0


def ranks_of(values: Floats) -> Floats:
    """The ranks of numbers (n,), those that are equal sharing the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2.0)[place]
    return ranks


def _standard_error(values: Floats, wanted: int, others: int) -> float:
    """That of the area under the curve of values that tell nothing. Ties make it smaller."""
    rows = wanted + others
    ties = np.unique(values, return_counts=True)[1].astype(float)
    tied = float((ties**3 - ties).sum()) / (rows * (rows - 1.0))
    return math.sqrt(max(rows + 1.0 - tied, 0.0) / (12.0 * wanted * others))


def _rises(values: Floats, labels: Mask) -> bool:
    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
    bins = np.searchsorted(edges, values, side="left")
    counts = np.bincount(bins)
    shares = np.bincount(bins, weights=labels)[counts > 0] / counts[counts > 0]
    return bool((np.diff(shares) >= -DIP).all())


def _groups(column: Column) -> NDArray[np.intp]:
    """A group of similar values for each cell, (n,). Cells without a value are a group."""
    if column.numbers is None:
        return np.unique(np.array(column.cells), return_inverse=True)[1]
    filled = np.where(column.given, column.numbers, np.inf)
    distinct, groups = np.unique(filled, return_inverse=True)
    if len(distinct) <= MOST_GROUPS:
        return groups
    count = max(2, min(MOST_GROUPS, len(filled) // ROWS_A_GROUP))
    edges = np.unique(np.quantile(column.values, np.linspace(0, 1, count + 1)[1:-1]))
    return np.where(column.given, np.searchsorted(edges, filled, side="left"), len(edges) + 1)


def _area(score: Floats, desired: Mask) -> float:
    """The area under the ROC curve: the chance that a desired row scores above another one, ties counted half."""
    _, rank, counts = np.unique(score, return_inverse=True, return_counts=True)
    wanted = np.bincount(rank, weights=desired, minlength=len(counts))
    others = counts - wanted
    below = np.cumsum(others) - others
    return float((wanted * (below + others / 2)).sum() / (wanted.sum() * others.sum()))
