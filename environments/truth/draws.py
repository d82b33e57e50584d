"""The random draws of a world, made before anything is suggested, so that all policies meet the same ones.

Each kind has a generator of its own, so that a changed condition changes no other draw.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...agents.arrays import Array
from .conditions import Conditions

UNIFORM, DELAY, FEATURES, PEOPLE, EFFECTS, PREFERENCES, MANNERS = range(7)
"""The numbers of the generators."""

LONGEST_DELAY = 10**9


def uniforms(seed: int, rounds: int) -> Array:
    """A uniform number of each rejected person, (S,), against which the probability of their outcome is held."""
    return generator(seed, UNIFORM).random(rounds)


def delays(seed: int, rounds: int, conditions: Conditions) -> NDArray[np.int64]:
    """Rounds until the outcome of each rejected person, (S,): 1 is at the end of the person's own round.

    A Lomax distribution of the given median and tail, rounded up.
    """
    scale = conditions.delay_median / (2 ** (1 / conditions.delay_tail) - 1)
    survival = 1.0 - generator(seed, DELAY).random(rounds)
    waits = scale * (survival ** (-1 / conditions.delay_tail) - 1)
    return np.clip(np.ceil(waits), 1, LONGEST_DELAY).astype(np.int64)


def difficulties(seed: int, rounds: int, features: int, conditions: Conditions) -> Array:
    """How hard each feature is for each rejected person, (S, F), as a multiple of the program's cost; 1 on average."""
    common = conditions.feature_spread * generator(seed, FEATURES).standard_normal(features)
    own = conditions.person_spread * generator(seed, PEOPLE).standard_normal((rounds, features))
    mean = (conditions.feature_spread**2 + conditions.person_spread**2) / 2
    return np.exp(common + own - mean)


def generator(seed: int, kind: int) -> np.random.Generator:
    """The generator of a kind of draws."""
    return np.random.default_rng([seed, kind])
