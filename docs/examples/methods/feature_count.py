"""A cost: how many features change."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from onward.agents.costs import Columns, Cost, registry
from onward.agents.costs.contract import Array, Indices


@registry.add
class FeatureCount(Cost):
    """Every feature that changes costs 1, however far it changes."""

    name: ClassVar[str] = "feature_count"
    uses_population: ClassVar[bool] = False

    def __init__(self, feature_of: Indices) -> None:
        self._first = np.flatnonzero(np.diff(feature_of, prepend=-1))

    @classmethod
    def build(cls, columns: Columns, reference: Array, samples: int, seed: int, **parameters: float) -> Self:
        """The cost of a program's features."""
        cls.check(parameters)
        return cls(columns.feature_of)

    def of_pairs(self, candidates: Array, people: Array, index: Indices, owner: Indices) -> Array:
        """Costs of shape (P,) of candidates ``index`` (P,) for people ``owner`` (P,)."""
        changed = candidates[index] != people[owner]
        features = np.logical_or.reduceat(changed, self._first, axis=1)
        count: Array = features.sum(axis=1, dtype=np.float64)
        return count
