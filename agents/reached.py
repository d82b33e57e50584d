"""Whether a score reaches a goal, and a person a target."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array
from .rounding import ROUNDING


def reaches_score(score: Any, goal: Any, tolerance: float = ROUNDING) -> Any:
    """Which scores reach the score that somebody was told to reach: numbers, or arrays of one shape. No score reaches a
    goal of NaN."""
    return score >= goal - tolerance


def reaches_target(person: Array, target: Array, direction: Array, tolerance: float = ROUNDING) -> Any:
    """Whether columns of a ``person`` (..., D) are as far as the ``target``, or farther, in the ``direction`` given.

    All are encoded and of shapes that broadcast. A direction is 1 or -1; a column of direction 0 is there already.
    """
    return np.asarray((person - target) * direction >= -tolerance)
