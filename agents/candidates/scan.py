"""The scan for feasible candidates, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@compiled
def find_feasible(
    people: Array,
    points: Array,
    background: NDArray[np.int64],
    starts: Indices,
    counts: Indices,
    by_background: Indices,
    direction: Indices,
    smallest: Array,
    feature_of: Indices,
    most: int,
    rows: Indices,
    candidates: Indices,
) -> int:
    """Put who can become which into ``rows`` and ``candidates``, and return how many pairs there are.

    A person (n, D) of background b is compared with the candidates ``by_background[starts[b] : starts[b] + counts[b]]``
    of ``points`` (K, D). Each column (D,) may change in its ``direction`` (1 up, -1 down, 0 both) by at least
    ``smallest``, and at most ``most`` features may change, but at least one.
    """
    found = 0
    for i in range(len(people)):
        first = starts[background[i]]
        for k in by_background[first : first + counts[background[i]]]:
            changes, last, good = 0, -1, True
            for d in range(people.shape[1]):
                change = points[k, d] - people[i, d]
                if change == 0.0:
                    continue
                if change * direction[d] < 0.0 or abs(change) < smallest[d]:
                    good = False
                    break
                if feature_of[d] != last:
                    changes, last = changes + 1, feature_of[d]
            if good and 0 < changes <= most:
                rows[found], candidates[found] = i, k
                found += 1
    return found
