"""Random draws of a world, made before anything is suggested, so that all policies have the same draws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...agents.arrays import Array

SEED = 777
"""Added to a world's seed for the draws of rewards and delays, as in the stored reference worlds."""

DELAY = 0.2
"""The geometric distribution's parameter unless another is given: mean 5."""


class Draws(NamedTuple):
    """The draws of each rejected person, in the order of arrival: a uniform (S,) and a delay (S,)."""

    uniform: Array
    delay: NDArray[np.int64]


def draw(random: np.random.RandomState, rounds: int, delay: float | Array = DELAY) -> Draws:
    """Uniforms and delays of ``rounds`` rejected people; ``delay`` is one parameter for all, or each person's (S,).

    A delay takes one number of the generator for any parameter, so a person's delay changes no other draw.
    """
    return Draws(random.rand(rounds), random.geometric(delay, rounds))


def generator(seed: int) -> np.random.RandomState:
    """The generator of a world's draws."""
    return np.random.RandomState(SEED + seed)
