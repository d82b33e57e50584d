"""The logistic function."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(-z)) without overflow. A value's result does not depend, bit for bit, on the values beside it."""
    return 0.5 * np.tanh(0.5 * np.ascontiguousarray(z)) + 0.5
