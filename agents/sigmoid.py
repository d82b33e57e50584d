"""The logistic function and its inverse, in forms whose last bits differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import Array

LARGEST_ODDS = 700.0
"""Of log odds beyond it no exponential is a number."""

LARGEST_LOGIT = 20.0
"""Goals for limited places count scores nearer to 0 or 1 than the sigmoid of this as that."""

SMALLEST_SCORE = 1.0 / (1.0 + math.exp(LARGEST_LOGIT))


def sigmoid(z: Array) -> Array:
    """1 / (1 + exp(-z)) without overflow. A value's result does not depend, bit for bit, on the values beside it."""
    return 0.5 * np.tanh(0.5 * np.ascontiguousarray(z)) + 0.5


def bounded_sigmoid(odds: Any, largest: float = LARGEST_LOGIT) -> Any:
    """1 / (1 + exp(-odds)) of log odds of any shape, those beyond +-``largest`` as if they were not."""
    return 1.0 / (1.0 + np.exp(-np.minimum(np.maximum(odds, -largest), largest)))


def scalar_sigmoid(odds: float) -> float:
    """The probability of one number of log odds, by the exponential of ``math``."""
    return 1.0 / (1.0 + math.exp(-max(odds, -LARGEST_ODDS)))


def logit(share: NDArray[np.floating[Any]], least: float) -> Array:
    """The log odds of scores or shares of any shape, those nearer to 0 or 1 than ``least`` as if they were not."""
    inside = np.clip(share, least, 1.0 - least)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def bounded_logit(score: Any, least: float = SMALLEST_SCORE) -> Any:
    """As ``logit``, by one logarithm of the quotient: the inverse of ``bounded_sigmoid``."""
    inside = np.minimum(np.maximum(score, least), 1.0 - least)
    return np.log(inside / (1.0 - inside))


def scalar_logit(score: float) -> float:
    """The log odds of one score in [0, 1], infinite at its ends."""
    if not 0.0 < score < 1.0:
        return math.inf if score >= 1.0 else -math.inf
    return math.log(score) - math.log1p(-score)
