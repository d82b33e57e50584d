"""The max percentile shift: the largest step through the population that a suggestion asks for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CELLS = 1 << 14
"""Person-candidate pairs worked on at once, so that the two working arrays stay in the processor's cache."""


class MaxPercentileShift:
    """Largest change of a column's percentile in a reference population.

    The cost is max over d of |Q_d(candidate) - Q_d(person)|, with Q_d the empirical distribution function of
    column d: the share of the population at or below a value. A change is as hard as the number of people it
    passes, whatever the units, and a suggestion is as hard as its hardest change. One-hot columns are treated like all
    others: a change of category costs the larger of the two categories' shares of the population.

    Parameters
    ----------
    reference
        The population, encoded, shape (N, D) with N at least 1. It is not kept; its sorted columns are.

    Raises
    ------
    ValueError
        When the population is empty or not a matrix.

    Examples
    --------
    >>> reference = np.array([[0.0, 0.1], [0.2, 0.2], [0.4, 0.3], [1.0, 0.4]])
    >>> cost = MaxPercentileShift(reference)
    >>> cost(np.array([[0.4, 0.1], [0.0, 0.4]]), np.array([[0.0, 0.1]]))
    array([[0.5 , 0.75]])

    References
    ----------
    Ustun, B., Spangher, A. and Liu, Y. (2019). Actionable Recourse in Linear Classification. FAT*.
    """

    def __init__(self, reference: NDArray[np.float64]) -> None:
        if reference.ndim != 2 or not len(reference):
            raise ValueError(f"reference has shape {reference.shape}: give a population of shape (N, D), N at least 1")
        self._size = len(reference)
        self._columns = np.sort(reference.T, axis=1)

    def __call__(self, candidates: NDArray[np.float64], people: NDArray[np.float64]) -> NDArray[np.float64]:
        """Costs of shape (n, K), between 0 and 1, for candidates (K, D) and people (n, D)."""
        targets, starts = self._ranks(candidates), self._ranks(people)
        cost = np.zeros((len(people), len(candidates)))
        rows = max(1, CELLS // max(1, len(candidates)))
        shift = np.empty((rows, len(candidates)))
        for first in range(0, len(people), rows):
            block = starts[:, first : first + rows]
            largest, change = cost[first : first + rows], shift[: block.shape[1]]
            for start, target in zip(block, targets, strict=True):
                np.subtract(start[:, None], target, out=change)
                np.abs(change, out=change)
                np.maximum(largest, change, out=largest)
        cost /= self._size
        return cost

    def of_pairs(
        self,
        candidates: NDArray[np.float64],
        people: NDArray[np.float64],
        which: NDArray[np.intp],
        whose: NDArray[np.intp],
    ) -> NDArray[np.float64]:
        """Costs of shape (P,) of candidates ``which`` (P,) for people ``whose`` (P,): the same bits, fewer of them."""
        cost = np.zeros(len(which))
        for target, start in zip(self._ranks(candidates), self._ranks(people), strict=True):
            change = start[whose]
            change -= target[which]
            np.abs(change, out=change)
            np.maximum(cost, change, out=cost)
        cost /= self._size
        return cost

    def _ranks(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        # Whole numbers held as floats: their differences are exact, so only the last division rounds.
        ranks = np.empty((len(self._columns), len(points)))
        for d, column in enumerate(self._columns):
            ranks[d] = np.searchsorted(column, points[:, d], side="right")
        return ranks
