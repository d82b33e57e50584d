"""Equality of goals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def gini(values: Floats) -> float:
    """The Gini index of numbers above 0: the mean absolute difference of all pairs, over twice the mean; 0 for none."""
    if len(values) == 0:
        return 0.0
    ordered = np.sort(values)
    n = len(ordered)
    weights = 2.0 * np.arange(1, n + 1) - n - 1
    # The weights add up to 0, so the smallest value can be taken off without a change: equal values give exactly 0.
    return float(weights @ (ordered - ordered[0]) / (n * ordered.sum()))
