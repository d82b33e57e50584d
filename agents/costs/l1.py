"""The l1 cost: the sum of a suggestion's scaled changes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

CELLS = 1 << 14
"""Person-candidate pairs worked on at once, so that the two working arrays stay in the processor's cache."""


class L1:
    """Sum of the absolute changes of all encoded columns.

    Every column counts the same per unit of its scaled range, which assumes that crossing the whole range is
    equally hard in each feature. A change of category costs 2, one for the category left and one for the category
    entered. Columns are added in their order, so that the result does not depend on the batch.

    Examples
    --------
    >>> candidates = np.array([[1.0, 0.5], [0.0, 0.0]])
    >>> people = np.array([[0.0, 0.25]])
    >>> L1()(candidates, people)
    array([[1.25, 0.25]])
    >>> L1().of_pairs(candidates, people, np.array([1]), np.array([0]))
    array([0.25])

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    """

    def __call__(self, candidates: NDArray[np.float64], people: NDArray[np.float64]) -> NDArray[np.float64]:
        """Costs of shape (n, K) for candidates (K, D) and people (n, D)."""
        columns = np.ascontiguousarray(candidates.T)
        cost = np.zeros((len(people), len(candidates)))
        rows = max(1, CELLS // max(1, len(candidates)))
        shift = np.empty((rows, len(candidates)))
        for start in range(0, len(people), rows):
            block = people[start : start + rows]
            total, change = cost[start : start + rows], shift[: len(block)]
            for d, column in enumerate(columns):
                np.subtract(block[:, d, None], column, out=change)
                np.abs(change, out=change)
                total += change
        return cost

    def of_pairs(
        self,
        candidates: NDArray[np.float64],
        people: NDArray[np.float64],
        which: NDArray[np.intp],
        whose: NDArray[np.intp],
    ) -> NDArray[np.float64]:
        """Costs of shape (P,) of candidates ``which`` (P,) for people ``whose`` (P,): the same bits, fewer of them."""
        cost = np.empty(len(which))
        add_up(np.ascontiguousarray(candidates), np.ascontiguousarray(people), which, whose, cost)
        return cost


@compiled
def add_up(
    candidates: NDArray[np.float64],
    people: NDArray[np.float64],
    which: NDArray[np.intp],
    whose: NDArray[np.intp],
    cost: NDArray[np.float64],
) -> None:
    """Put the costs of pairs into ``cost`` (P,)."""
    for pair in range(len(cost)):
        total = 0.0
        for d in range(candidates.shape[1]):
            total += abs(people[whose[pair], d] - candidates[which[pair], d])
        cost[pair] = total
