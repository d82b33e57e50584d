"""Spaces of features that are scaled already, for generators alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..agents.candidates import Mutable, Ranges, Space

Array = np.ndarray[Any, Any]


@dataclass
class SigmoidScore:
    """A linear score."""

    weights: Array
    bias: float

    def __call__(self, X: Array) -> Array:
        """The scores of encoded rows (n, D), (n,)."""
        scores: Array = 1.0 / (1.0 + np.exp(-(X @ self.weights + self.bias)))
        return scores


def scaled_space(
    feature_of: Array,
    mutable: Sequence[Mutable],
    smallest_change: Array | None = None,
    max_changes: int | None = None,
    feature_names: Sequence[str] | None = None,
    allowed: Callable[[Array], Array] = lambda rows: np.ones(len(rows), dtype=bool),
    ranges: Ranges | None = None,
) -> Space:
    """A space whose raw values are the encoded ones, from 0 to 1."""
    columns, features = len(feature_of), len(mutable)
    return Space(
        feature_of,
        np.zeros(columns),
        np.ones(columns),
        mutable,
        np.zeros(features) if smallest_change is None else smallest_change,
        [9] * features,
        max_changes,
        allowed,
        feature_names or [f"f{feature}" for feature in range(features)],
        ranges or Ranges.from_bounds(np.zeros(features), np.ones(features)),
    )
