"""The share of those who reach a goal that get no place, when they and better newcomers compete for k places."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from ...arrays import Array
from ...compiled import compiled

EXACT_PEOPLE = 400
"""Up to this many people in all the distributions are computed exactly, beyond it as normal ones."""


class Alike(NamedTuple):
    """So many people who are alike: the probabilities (G,) that one reaches each goal, or is ahead of all who do."""

    number: int
    success: Array
    ahead: Array


def rejected_share(
    successes: Array, ahead: Array, places: int, weight: float = 1.0, more: Alike | None = None
) -> Array:
    """The expected rejected share (G,) of those who succeed, given that somebody does, for each of G goals.

    ``successes`` (n, G) are the probabilities of independent people to reach the goal, each standing for ``weight``
    people; ``ahead`` (m, G) those of people to be ahead of all of them. There may be ``more`` people of both kinds.
    """
    trials = len(successes) + len(ahead) + (0 if more is None else 2 * more.number)
    if weight != 1.0 or trials > EXACT_PEOPLE:
        return _normal(successes, ahead, places, weight, more)
    if more is not None:
        successes, ahead = (
            np.concatenate([some, np.tile(one, (more.number, 1))])
            for some, one in ((successes, more.success), (ahead, more.ahead))
        )
    return _exact(successes, ahead, places)


@compiled
def poisson_binomial(probabilities: Array) -> Array:
    """The distribution (G, n + 1) of the number of successes of n independent trials, probabilities (n, G)."""
    n, goals = probabilities.shape
    distribution = np.zeros((goals, n + 1))
    for goal in range(goals):
        row = distribution[goal]
        row[0] = 1.0
        for trial in range(n):
            p = probabilities[trial, goal]
            for count in range(trial + 1, 0, -1):
                row[count] = row[count] * (1.0 - p) + row[count - 1] * p
            row[0] *= 1.0 - p
    return distribution


def _exact(successes: Array, ahead: Array, places: int) -> Array:
    reach, better = (poisson_binomial(np.ascontiguousarray(trials)) for trials in (successes, ahead))
    count = np.arange(1, len(successes) + 1)
    free = np.maximum(places - np.arange(len(ahead) + 1), 0)
    share = np.maximum(count[:, None] - free, 0) / count[:, None]
    any_success = reach[:, 1:].sum(axis=1)
    expected = ((reach[:, 1:] @ share) * better).sum(axis=1)
    return np.asarray(np.divide(expected, any_success, out=np.zeros(len(any_success)), where=any_success > 0))


def _normal(successes: Array, ahead: Array, places: int, weight: float, more: Alike | None) -> Array:
    reach = weight * successes.sum(axis=0)
    excess = reach + ahead.sum(axis=0) - places
    variance = weight * (successes * (1 - successes)).sum(axis=0) + (ahead * (1 - ahead)).sum(axis=0)
    if more is not None:
        reach = reach + more.number * more.success
        excess += more.number * (more.success + more.ahead)
        variance += more.number * (more.success * (1 - more.success) + more.ahead * (1 - more.ahead))
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    z = excess / deviation
    lost = deviation * np.exp(-z * z / 2) / math.sqrt(2 * math.pi) + excess * ndtr(z)
    return np.asarray(np.clip(np.divide(lost, reach, out=np.zeros(len(reach)), where=reach > 0), 0.0, 1.0))
