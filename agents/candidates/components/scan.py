"""The scan for feasible instances, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ..contract import Array, Indices


@compiled
def find_feasible(
    people: Array,
    instances: Array,
    background: NDArray[np.int64],
    groups: tuple[Indices, Indices, Indices],
    rules: tuple[Indices, Array, Array, Indices],
    max_changes: int,
    out: tuple[Indices, Indices],
) -> int:
    """Put the rows of people and the instances that are feasible for them into ``out``, and return the number of
    pairs.

    ``background`` (n,) is the number of each person's pattern of immutable values. Those of ``groups`` are the
    ``starts`` and ``counts`` of each pattern's instances among the ``members``. Of ``rules``, ``direction`` (D,) is
    1 for up, -1 for down and 0 for both, ``smallest`` (D,) the smallest change of a column, ``largest`` (n, D) a
    person's largest, and ``feature_of`` (D,) its feature. At most ``max_changes`` features change, and at least one.
    """
    starts, counts, members = groups
    direction, smallest, largest, feature_of = rules
    rows, arms = out
    pairs = 0
    for i in range(len(people)):
        first = starts[background[i]]
        for k in members[first : first + counts[background[i]]]:
            changes, last, feasible = 0, -1, True
            for d in range(people.shape[1]):
                change = instances[k, d] - people[i, d]
                if change == 0.0:
                    continue
                if change * direction[d] < 0.0 or abs(change) < smallest[d] or abs(change) > largest[i, d]:
                    feasible = False
                    break
                if feature_of[d] != last:
                    changes, last = changes + 1, feature_of[d]
            if feasible and 0 < changes <= max_changes:
                rows[pairs], arms[pairs] = i, k
                pairs += 1
    return pairs
