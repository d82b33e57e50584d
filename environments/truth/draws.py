"""The random draws of a world, made before anything is suggested, so that all policies meet the same ones.

Each kind has a generator of its own, so that a changed condition changes no other draw.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .conditions import Conditions

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

UNIFORM, DELAY, FEATURES, PEOPLE, EFFECTS = range(5)
"""The numbers of the generators."""

LONGEST_DELAY = 10**9


def uniforms(seed: int, rounds: int) -> Floats:
    """A uniform number of each rejected person, (S,), against which the probability of their outcome is held."""
    return _generator(seed, UNIFORM).random(rounds)


def delays(seed: int, rounds: int, conditions: Conditions) -> NDArray[np.int64]:
    """Rounds until the outcome of each rejected person, (S,): 1 is at the end of the person's own round.

    A Lomax distribution of the given median and tail, rounded up.
    """
    scale = conditions.delay_median / (2 ** (1 / conditions.delay_tail) - 1)
    survival = 1.0 - _generator(seed, DELAY).random(rounds)
    waits = scale * (survival ** (-1 / conditions.delay_tail) - 1)
    return np.clip(np.ceil(waits), 1, LONGEST_DELAY).astype(np.int64)


def difficulties(seed: int, rounds: int, features: int, conditions: Conditions) -> Floats:
    """How hard each feature is for each rejected person, (S, F), as a multiple of the program's cost; 1 on average."""
    common = conditions.feature_spread * _generator(seed, FEATURES).standard_normal(features)
    own = conditions.person_spread * _generator(seed, PEOPLE).standard_normal((rounds, features))
    mean = (conditions.feature_spread**2 + conditions.person_spread**2) / 2
    multiples: Floats = np.exp(common + own - mean)
    return multiples


def ineffective(seed: int, mutable: Mask, conditions: Conditions) -> tuple[Mask, Mask]:
    """The features (F,) whose changes do not help, before and after the shift.

    They are drawn among those that may change. Where any may, at least one always helps.
    """
    order = _generator(seed, EFFECTS).permutation(np.flatnonzero(mutable))
    most = max(0, len(order) - 1)
    inert = min(most, round(conditions.inert * len(order)))
    drifted = min(most, inert + round(conditions.drift * len(order)))
    features = np.arange(len(mutable))
    return np.isin(features, order[:inert]), np.isin(features, order[:drifted])


def _generator(seed: int, kind: int) -> np.random.Generator:
    return np.random.default_rng([seed, kind])
