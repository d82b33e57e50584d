"""The error that a computed number may have gathered."""

from __future__ import annotations

import numpy as np

from .arrays import Array

ROUNDING = 1e-9
"""By how much a number may miss what it equals, in its own unit: steps, scaled changes, scores. Raw steps, for one, do
not divide a range exactly, and 0.29 * 100 is less than 29."""
_DECADES = 10.0 ** np.arange(-12, 1)
_SCALES = 10.0 ** np.arange(22)
"""Powers of ten that a float64 holds exactly, but for the decades below 1."""


def to_significant(scores: Array, digits: int) -> Array:
    """Scores from 0 to 1, rounded to so many significant digits: each is the float64 that is nearest to its decimals.

    Examples
    --------
    >>> to_significant(np.array([0.50000003, 0.0123456789, 1.0000001, 0.0]), 5).tolist()
    [0.5, 0.012346, 1.0, 0.0]
    """
    scale = _SCALES[digits + len(_DECADES) - 1 - np.searchsorted(_DECADES, scores, side="right")]
    return np.asarray(np.rint(scores * scale) / scale)
