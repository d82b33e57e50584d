"""The best of all sets of options by the expected minimum cost, compiled."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Indices
from ...compiled import compiled

LEAST_DECREASE = 1e-9
"""A set is better than an earlier one where its EMC is less by more than this share: less is rounding."""


@compiled
def best_of_every_set(costs: Array, weights: Array, size: int) -> Indices:
    """The set of ``size`` options, ascending, with the least EMC; the first of equal ones.

    ``costs`` (P, S), with P at least ``size``, and ``weights`` (S,) are as in ``min_cost``.

    Examples
    --------
    >>> costs = np.array([[1.0, 9.0, 9.0], [3.0, 3.0, 3.0], [9.0, 1.0, 9.0], [9.0, 9.0, 1.0]])
    >>> best_of_every_set(costs, np.ones(3), 3), best_of_every_set(costs, np.ones(3), 1)
    (array([0, 2, 3]), array([1]))
    """
    options, samples = costs.shape
    least = np.full((size + 1, samples), np.inf)
    place, best = np.arange(size), np.arange(size)
    lowest, depth = np.inf, 0
    place[0] = -1
    while depth >= 0:
        place[depth] += 1
        option = place[depth]
        if option > options - size + depth:
            depth -= 1
        elif depth == size - 1:
            total = 0.0
            for i in range(samples):
                total += weights[i] * min(least[depth, i], costs[option, i])
            if total < lowest - LEAST_DECREASE * abs(total):
                lowest = total
                for rank in range(size):
                    best[rank] = place[rank]
        else:
            for i in range(samples):
                least[depth + 1, i] = min(least[depth, i], costs[option, i])
            depth += 1
            place[depth] = option
    return best
