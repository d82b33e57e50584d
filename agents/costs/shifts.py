"""Shifts: how far a candidate is from a person in each encoded column, on a scale of the column.

A scale gives every value a place. The shift of a column is the distance of two places: a cost adds the shifts of all
columns up, or takes the largest.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from .contract import Array, Cost, Indices

CELLS = 1 << 14
"""Person-candidate pairs worked on at once, so that the two working arrays stay in the processor's cache."""


class Scale(Protocol):
    """The places of encoded values. ``unit`` is what a shift of 1 is divided by."""

    unit: float

    def places(self, points: Array) -> Array:
        """The places of encoded points (N, D), of the same shape, C-contiguous."""


class LinearShift:
    """The values themselves: a shift is the share of the column's range."""

    unit = 1.0

    def places(self, points: Array) -> Array:
        """The points."""
        return np.ascontiguousarray(points)


class Percentile:
    """The ranks of values in a population: a shift is the number of people that a change passes.

    Parameters
    ----------
    reference
        The population, encoded, shape (N, D) with N at least 1. It is not kept; its sorted columns are.

    Raises
    ------
    ValueError
        When the population is empty or not a matrix.
    """

    def __init__(self, reference: Array) -> None:
        if reference.ndim != 2 or not len(reference):
            raise ValueError(f"reference has shape {reference.shape}: give a population of shape (N, D), N at least 1")
        self.unit = float(len(reference))
        self.columns = np.sort(reference.T, axis=1)
        """The sorted values of each column, (D, N)."""

    def places(self, points: Array) -> Array:
        """The number of people at or below each value."""
        # Whole numbers held as floats: their differences are exact, so only the last division rounds.
        ranks = np.empty((len(points), len(self.columns)))
        for d, column in enumerate(self.columns):
            ranks[:, d] = np.searchsorted(column, points[:, d], side="right")
        return ranks


class ShiftCost(Cost):
    """The shifts of all columns on a scale, combined in the order of the columns by ``np.add`` or ``np.maximum``."""

    combine: ClassVar[np.ufunc]
    scale: Scale

    def __call__(self, candidates: Array, people: Array) -> Array:
        """Costs of shape (n, K) for candidates (K, D) and people (n, D)."""
        targets, starts = (np.ascontiguousarray(self.scale.places(points).T) for points in (candidates, people))
        cost = np.zeros((len(people), len(candidates)))
        rows = max(1, CELLS // max(1, len(candidates)))
        shift = np.empty((rows, len(candidates)))
        for first in range(0, len(people), rows):
            block = starts[:, first : first + rows]
            total, change = cost[first : first + rows], shift[: block.shape[1]]
            for start, target in zip(block, targets, strict=True):
                np.subtract(start[:, None], target, out=change)
                np.abs(change, out=change)
                self.combine(total, change, out=total)
        return self._in_units(cost)

    def of_pairs(self, candidates: Array, people: Array, index: Indices, owner: Indices) -> Array:
        """Costs of shape (P,) of candidates ``index`` (P,) for people ``owner`` (P,): the same bits, fewer of them."""
        cost, takes_largest = np.empty(len(index)), self.combine is np.maximum
        combine_pairs(self.scale.places(candidates), self.scale.places(people), index, owner, takes_largest, cost)
        return self._in_units(cost)

    def _in_units(self, cost: Array) -> Array:
        return cost if self.scale.unit == 1.0 else cost / self.scale.unit


@compiled
def combine_pairs(
    targets: NDArray[np.float64],
    starts: NDArray[np.float64],
    index: NDArray[np.intp],
    owner: NDArray[np.intp],
    takes_largest: bool,
    cost: NDArray[np.float64],
) -> None:
    """Put the sum, or the largest, of the shifts from ``starts`` (n, D) to ``targets`` (K, D) into ``cost`` (P,)."""
    for pair in range(len(cost)):
        total = 0.0
        for d in range(targets.shape[1]):
            shift = abs(starts[owner[pair], d] - targets[index[pair], d])
            total = max(total, shift) if takes_largest else total + shift
        cost[pair] = total
