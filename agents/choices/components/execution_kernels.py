"""What a step reads and whom it finds most promising, compiled: there may be a hundred thousand feasible candidates."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ..contract import Array

NO_NOISE = 1e-3
"""Noise of a smaller standard deviation is taken to clip nothing."""

FLOOR = 0.01
"""The least share of the model's execution probability that an estimate is."""

SLACK = 1e-9
"""Bounds are wider by so much, which is far more than what rounding takes from what they bound."""


@compiled
def most_promising(
    person: Array,
    points: Array,
    feasible: NDArray[np.intp],
    given: Array,
    weights: Array,
    noise: float,
    trust: float,
    promise: Array,
    focus: float,
) -> tuple[int, float]:
    """Find where the largest estimate^focus * promise stands among the feasible, F > 0, the first among equals, and
    what its estimate is: the model's execution probability exp(-weights |change|), and the part ``trust`` of what its
    reading in ``given`` (F,) differs from what is expected of it; no less than the lesser of both, and within (0, 1].

    What a power, an exponential or an expectation would tell is worked out only where a bound leaves it open. There are
    two bounds, one for whoever promises no more than most do, which are those that nothing is known of.
    """
    usual, ceiling = usual_and_largest(promise, feasible)
    best, at, found = -1.0, 0, 0.0
    least, limit = (-math.inf, -math.inf), (math.inf, math.inf)
    for i in range(len(feasible)):
        k = feasible[i]
        group = 0 if promise[k] <= usual else 1
        if trust and highest(1.0, given[i], noise, trust) < least[group] - SLACK:
            continue
        effort = effort_of(person, points, k, weights)
        if effort > limit[group]:
            continue
        e = math.exp(-effort)
        if trust:
            if highest(e, given[i], noise, trust) < least[group] - SLACK:
                continue
            e = min(max(e + trust * (given[i] - mean_reading(e, noise)), min(e, given[i]), FLOOR * e), 1.0)
        if e < least[group]:
            continue
        score = e**focus * promise[k]
        if score > best or (score == 0.0 and best == 0.0 and e > found):
            best, at, found = score, i, e
            least = (needed(best, usual, focus), needed(best, ceiling, focus))
            if not trust:
                limit = (effort_left(least[0]), effort_left(least[1]))
    return at, found


@compiled
def usual_and_largest(promise: Array, feasible: NDArray[np.intp]) -> tuple[float, float]:
    """The promise that more than half of the feasible candidates make, any if there is none, and the largest."""
    usual, largest, votes = 0.0, 0.0, 0
    for k in feasible:
        largest = max(largest, promise[k])
        if not votes:
            usual = promise[k]
        votes += 1 if promise[k] == usual else -1
    return usual, largest


@compiled
def needed(score: float, promise: float, focus: float) -> float:
    """No estimate below this reaches a score together with the promise or a smaller one."""
    return float((score * (1.0 - SLACK) / promise) ** (1.0 / focus))


@compiled
def effort_left(least: float) -> float:
    """The most effort with which a probability is no less."""
    return -math.log(least) if least > 0.0 else math.inf


@compiled
def effort_of(person: Array, points: Array, k: int, weights: Array) -> float:
    """Weigh the absolute changes from a person to the k-th candidate."""
    effort = 0.0
    for d in range(len(weights)):
        effort += weights[d] * abs(points[k, d] - person[d])
    return effort


@compiled
def mean_reading(m: float, noise: float) -> float:
    """The mean of readings of the probability m, which are clipped to [0, 1]."""
    if noise <= NO_NOISE:
        return m
    upper, lower = (1.0 - m) / noise, m / noise
    above, below = 0.5 * math.erfc(upper / math.sqrt(2.0)), 0.5 * math.erfc(lower / math.sqrt(2.0))
    bend = math.exp(-0.5 * lower * lower) - math.exp(-0.5 * upper * upper)
    return m * (1.0 - above - below) + noise * bend / math.sqrt(2.0 * math.pi) + above


@compiled
def highest(m: float, value: float, noise: float, trust: float) -> float:
    """No estimate is higher that has a reading ``value`` and comes from a probability of m or less.

    Clipping moves the mean of readings towards 1/2, not beyond, and down by noise / sqrt(2 pi) at most.
    """
    return max(m + trust * (value - max(min(m, 0.5), m - 0.4 * noise)), FLOOR * m)


@compiled
def read(
    first: int,
    stride: int,
    noise: float,
    fade: float,
    person: Array,
    points: Array,
    feasible: NDArray[np.intp],
    given: Array,
    neighbour: NDArray[np.intp],
    information: Array,
    target: Array,
    weights: Array,
    scatter: Array,
    place: NDArray[np.intp],
    change: Array,
    centre: Array,
    expected: Array,
) -> None:
    """Learn from every ``stride``-th of a step's readings ``given`` (F,) from ``first`` on what ``compare`` and ``fit``
    do, in place. Of each row that is read, ``place`` takes where its neighbour stands, ``change`` the absolute changes,
    ``centre`` the model's execution probability and ``expected`` the mean of its readings."""
    rows = 1 + (len(feasible) - 1 - first) // stride
    for row in range(rows):
        k = feasible[first + row * stride]
        effort = 0.0
        for d in range(len(weights)):
            change[row, d] = abs(points[k, d] - person[d])
            effort += weights[d] * change[row, d]
        centre[row] = math.exp(-effort)
        expected[row] = mean_reading(centre[row], noise)
        place[row] = place_of(neighbour[k], feasible)
    # Where candidates that are alike stand side by side, none is read together with its neighbour.
    pairs = 0
    for row in range(rows):
        j = place[row] - first
        if j >= -first and j != row * stride and j % stride == 0:
            pairs += 1
            i = first + row * stride
            compare(given[i] - expected[row], given[place[row]] - expected[j // stride], scatter)
    if not pairs:
        for row in range(rows):
            i, j = first + row * stride, place[row]
            if j >= 0 and j != i:
                m = math.exp(-effort_of(person, points, feasible[j], weights))
                compare(given[i] - expected[row], given[j] - mean_reading(m, noise), scatter)
    fit(first, stride, fade, given, change, centre[:rows], information, target, weights, scatter)


@compiled
def place_of(k: int, feasible: NDArray[np.intp]) -> int:
    """Where a candidate stands among the feasible, which ascend; -1 where it does not."""
    if k < len(feasible) and feasible[k] == k:
        return k
    place = int(np.searchsorted(feasible, k))
    return place if place < len(feasible) and feasible[place] == k else -1


@compiled
def compare(one: float, other: float, scatter: Array) -> None:
    """Add to ``scatter`` what the residuals of two neighbours differ by and what they have."""
    scatter[2] += 0.5 * (one - other) ** 2
    scatter[3] += 0.5 * (one * one + other * other)


@compiled
def fit(
    first: int,
    stride: int,
    fade: float,
    given: Array,
    change: Array,
    centre: Array,
    information: Array,
    target: Array,
    weights: Array,
    scatter: Array,
) -> None:
    """Add readings to ``information``, ``target`` and ``scatter``, of which the share ``fade`` of before is kept."""
    noise = math.sqrt(scatter[0] / scatter[1])
    information *= fade
    target *= fade
    scatter *= fade
    for row in range(len(centre)):
        value, m = given[first + row * stride], centre[row]
        square = (value - m) ** 2
        if (value >= 1.0 or value <= 0.0) and noise > NO_NOISE:
            side = 1.0 if value >= 1.0 else -1.0
            u = (1.0 - m if value >= 1.0 else m) / noise
            tail = 0.5 * math.erfc(u / math.sqrt(2.0))
            hazard = math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi) / tail if u < 6.0 else u + 1.0 / u
            value, square = m + side * noise * hazard, noise * noise * (1.0 + u * hazard)
        scatter[0] += square
        scatter[1] += 1.0
        aim = value - m
        for d in range(len(weights)):
            aim -= m * weights[d] * change[row, d]
        for a in range(len(weights)):
            slope = -m * change[row, a]
            target[a] += slope * aim
            for b in range(a + 1):
                information[a, b] -= slope * m * change[row, b]
