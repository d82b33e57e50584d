"""The logistic function, and its inverse."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(-z)) without overflow. A value's result does not depend, bit for bit, on the values beside it."""
    return 0.5 * np.tanh(0.5 * np.ascontiguousarray(z)) + 0.5


def logit(share: NDArray[np.floating[Any]], least: float) -> Floats:
    """The log odds of scores or shares of any shape, those nearer to 0 or 1 than ``least`` as if they were not."""
    inside = np.clip(share, least, 1.0 - least)
    odds: Floats = np.log(inside) - np.log1p(-inside)
    return odds
