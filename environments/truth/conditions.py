"""The conditions of a world: every number that neither its data nor its truth give, and the random draws by them.

Draws are made before anything is suggested, so that all policies meet the same ones. Each kind has a generator of its
own, so that a changed condition changes no other draw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...agents.arrays import Array, Mask


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """How people differ, how much of their luck stays, and how late outcomes come. All numbers are invented.

    Parameters
    ----------
    luck_kept
        The probability that the luck of a person without the desired outcome is the same next time. Illness or a slow
        trade lasts for some and ends for others.
    feature_spread
        The standard deviation of the log of a feature's difficulty, the same for everybody. At 0.5 one feature in six
        is 1.6 times as hard as the program's cost says, and one in six 1.6 times as easy.
    person_spread
        The same for what each person finds hard beside that.
    shift_at
        The share of the rejected people who are served before features stop helping.
    delay_median
        The median delay of outcomes, in rounds.
    delay_tail
        The exponent of their tail: P(delay > d) falls as d ** -delay_tail. At 1.5 the mean is finite and the
        variance is not; a fifth of the outcomes come after 10 rounds.
    """

    luck_kept: float = 0.3
    feature_spread: float = 0.5
    person_spread: float = 0.5
    shift_at: float = 0.5
    delay_median: float = 3.0
    delay_tail: float = 1.5

    def __post_init__(self) -> None:
        for name in ("luck_kept", "shift_at"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give a share from 0 to 1")
        for name in ("feature_spread", "person_spread"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give a standard deviation, 0 or more")
        for name in ("delay_median", "delay_tail"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give a number above 0")

    def ineffective(self, seed: int, mutable: Mask) -> tuple[Mask, Mask]:  # worlds of studies draw some
        """The features (F,) whose changes please the model only, before and after the shift."""
        return np.zeros_like(mutable), np.zeros_like(mutable)


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
    personal = conditions.person_spread * generator(seed, PEOPLE).standard_normal((rounds, features))
    mean = (conditions.feature_spread**2 + conditions.person_spread**2) / 2
    return np.exp(common + personal - mean)


def generator(seed: int, kind: int) -> np.random.Generator:
    """The generator of a kind of draws."""
    return np.random.default_rng([seed, kind])
