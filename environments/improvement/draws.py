"""Random draws of a world, made before anything is suggested, so that all policies have the same draws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SEED = 777
"""Added to a world's seed for the draws of rewards, delays and noise, as in the stored reference worlds."""

DELAY = 0.2
"""The geometric distribution's parameter unless another is given: mean 5."""


class Draws(NamedTuple):
    """The draws of each rejected person, in the order of arrival: a uniform (S,) and a delay (S,)."""

    uniform: Floats
    delay: NDArray[np.int64]


def draw(seed: int, rounds: int, delay: float | Floats) -> Draws:
    """Uniforms and delays of ``rounds`` rejected people; ``delay`` is one parameter for all, or each person's (S,).

    A delay takes one number of the generator for any parameter, so a person's delay changes no other draw.
    """
    return _draw(np.random.RandomState(SEED + seed), rounds, delay)


def draw_noise(seed: int, rounds: int, candidates: int) -> Floats:
    """Standard normal noise (S, K) on the execution probabilities of each rejected person and each candidate."""
    random = np.random.RandomState(SEED + seed)
    _draw(random, rounds, DELAY)
    return random.randn(rounds, candidates)


def _draw(random: np.random.RandomState, rounds: int, delay: float | Floats) -> Draws:
    return Draws(random.rand(rounds), random.geometric(delay, rounds))
