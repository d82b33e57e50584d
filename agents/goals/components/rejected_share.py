"""How many of those who reach a goal get no place, when they and better newcomers compete for k places."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]

EXACT_PEOPLE = 400
"""Up to this many people in all the distributions are computed exactly, beyond it as normal ones."""


def rejected_share(successes: Array, ahead: Array, places: int, weight: float = 1.0) -> Array:
    """The expected rejected share (G,) of those who succeed, given that somebody does, for each of G goals.

    ``successes`` (n, G) are the probabilities of independent people to reach the goal, each standing for ``weight``
    people; ``ahead`` (m, G) those of people to be ahead of all of them.
    """
    if weight == 1.0 and len(successes) + len(ahead) <= EXACT_PEOPLE:
        return _exact(successes, ahead, places)
    return _normal(successes, ahead, places, weight)


def poisson_binomial(probabilities: Array) -> Array:
    """The distribution (G, n + 1) of the number of successes of n independent trials, probabilities (n, G)."""
    n, goals = probabilities.shape
    distribution = np.zeros((n + 1, goals))
    distribution[0] = 1.0
    for trial, p in enumerate(probabilities):
        distribution[1 : trial + 2] = distribution[1 : trial + 2] * (1 - p) + distribution[: trial + 1] * p
        distribution[0] *= 1 - p
    return distribution.T


def _exact(successes: Array, ahead: Array, places: int) -> Array:
    reach, better = poisson_binomial(successes)[:, 1:], poisson_binomial(ahead)
    count = np.arange(1, len(successes) + 1)
    free = np.maximum(places - np.arange(len(ahead) + 1), 0)
    share = np.maximum(count[:, None] - free, 0) / count[:, None]
    somebody = reach.sum(axis=1)
    expected = np.einsum("gs,sb,gb->g", reach, share, better)
    return np.divide(expected, somebody, out=np.zeros(len(somebody)), where=somebody > 0)


def _normal(successes: Array, ahead: Array, places: int, weight: float) -> Array:
    reach = weight * successes.sum(axis=0)
    excess = reach + ahead.sum(axis=0) - places
    variance = weight * (successes * (1 - successes)).sum(axis=0) + (ahead * (1 - ahead)).sum(axis=0)
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    z = excess / deviation
    lost = deviation * np.exp(-z * z / 2) / math.sqrt(2 * math.pi) + excess * ndtr(z)
    share: Array = np.clip(np.divide(lost, reach, out=np.zeros(len(reach)), where=reach > 0), 0.0, 1.0)
    return share
