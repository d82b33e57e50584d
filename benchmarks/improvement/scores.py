"""A method's scores on one world, and on several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.benchmarks.improvement.play import Played

QUARTER = 250
"""The number of first and of last rounds with a score of their own."""


class Score(NamedTuple):
    """One world: means over its rounds, but ``regret``, which is a sum. ``oracle`` is the best mean expected reward,
    ``us`` processor time a round."""

    improvement: float
    cost: float
    mer: float
    regret: float
    mer_250: float
    last250: float
    oracle: float
    us: float
    curve: NDArray[np.float64]
    """The mean expected reward so far, (T,)."""


class Spread(NamedTuple):
    """A mean and a standard deviation (of the population, as in the reference) over n worlds."""

    mean: float
    std: float
    n: int

    @property
    def variance_of_mean(self) -> float:
        """Squared standard error; infinite for a single world, of which nothing is known."""
        return self.std**2 / (self.n - 1) if self.n > 1 else np.inf


METRICS = ("improvement", "cost", "mer", "regret", "mer_250", "last250", "us")


def score(played: Played) -> Score:
    """The score of a play."""
    expected = played.expected
    return Score(
        improvement=played.improvement.mean(),
        cost=played.cost.mean(),
        mer=expected.mean(),
        regret=float((played.best - expected).sum()),
        mer_250=expected[:QUARTER].mean(),
        last250=expected[-QUARTER:].mean(),
        oracle=played.best.mean(),
        us=played.cpu_seconds.mean() * 1e6,
        curve=np.cumsum(expected) / np.arange(1, len(expected) + 1),
    )


def spread(values: Sequence[float]) -> Spread:
    """Mean and standard deviation of the values of several worlds."""
    return Spread(float(np.mean(values)), float(np.std(values)), len(values))


def standard_errors(ours: Spread, theirs: Spread) -> float | None:
    """How many standard errors of the difference ours is above theirs; None when that cannot be said."""
    error = np.sqrt(ours.variance_of_mean + theirs.variance_of_mean)
    return (ours.mean - theirs.mean) / float(error) if 0 < error < np.inf else None
