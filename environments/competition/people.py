"""What people do: the probabilities with which they succeed in a change, give up, and come back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...agents.arrays import Array
from ...agents.costs import attainability as attainability
from .settings import Settings

Indices = NDArray[np.int64]


def success_probability(people: Array, targets: Array, beta: float, difficulty: Array) -> Array:
    r"""The probability that each change succeeds, (n, D), equation 8: $1 - \exp(-\beta a / d)$; 1 for no change."""
    return -np.expm1(-beta * np.maximum(attainability(people, targets), 0.0) / difficulty)


def dropout_probability(gap: Array, reapplications: Indices, settings: Settings) -> Array:
    """The probability (n,) of giving up after a rejection, equation 6."""
    pressure = settings.rho * gap + settings.chi * reapplications + settings.omega * gap * reapplications
    return -np.expm1(-pressure)


def return_probability(gap: Array, waited: Indices, settings: Settings) -> Array:
    """The probability (n,) of coming back in this round after ``waited`` rounds, equations 9 to 11."""
    urgency = waited / settings.horizon
    return (1.0 - urgency) * np.exp(-settings.nu * gap) + urgency
