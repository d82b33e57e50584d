"""Sets of features as arms: which kinds of change a learner learns about."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import comb

import numpy as np

from ..contract import Array, Indices
from .grid import Grid, Steps

MOST_ARMS = 200
"""Larger sets of features share one arm for each size."""


class FeatureSets:
    """The arms of all sets of at most ``most_changes`` of a grid's movable features.

    ``rows`` (K, D) are the arms as choices know them: 1 in the columns of a set's features. An arm that larger sets
    share has the same share of 1 in all movable columns.
    """

    def __init__(self, grid: Grid, columns: int, most_changes: int) -> None:
        movable = len(grid.features)
        self._own: dict[bytes, int] = {}
        self._shared: dict[int, int] = {}
        rows: list[Array] = []

        def add(chosen: Iterable[int], value: float) -> int:
            row = np.zeros(columns)
            for index in chosen:
                row[grid.columns(index)] = value
            rows.append(row)
            return len(rows) - 1

        for size in range(1, most_changes + 1):
            if self._shared or (size > 1 and len(rows) + comb(movable, size) > MOST_ARMS):
                self._shared[size] = add(range(movable), size / movable)
                continue
            for chosen in combinations(range(movable), size):
                self._own[np.isin(np.arange(movable), chosen).tobytes()] = add(chosen, 1.0)
        self.rows = np.array(rows, dtype=np.float64).reshape(-1, columns)

    def arms(self, steps: Steps) -> Indices:
        """The arms, (R,), of targets (R, M)."""
        changed = steps != 0
        sizes = changed.sum(axis=1).tolist()
        arms = [
            self._own.get(row.tobytes(), self._shared.get(size, -1)) for row, size in zip(changed, sizes, strict=True)
        ]
        return np.array(arms, dtype=np.intp)
