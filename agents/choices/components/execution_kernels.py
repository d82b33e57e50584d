"""The compiled loops over a person's options: finding the best one, and fitting the execution model.

``options`` are the fields of ``Options`` as a plain tuple. ``stats`` are the noise statistics of ``ExecutionModel``.
"""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Indices
from ...compiled import compiled
from ..contract import Array

OptionArrays = tuple[Array, Indices, Array, Indices, Array]
Regression = tuple[Array, Array, Array, Array]
"""``information`` (D, D), ``target`` (D,), ``weights`` (D,), ``stats`` (4,)."""

NO_NOISE = 1e-3
"""Noise of a smaller standard deviation is treated as none: it clips nothing."""

MIN_SHARE = 0.01
"""An estimate is at least this share of the model's execution probability."""

SLACK = 1e-9
"""Relative margin of the bounds, far above the rounding error of the quantities that they bound."""


@compiled
def best_option(
    options: OptionArrays, weights: Array, noise: float, residual_weight: float, upper_index: Array, focus: float
) -> tuple[int, float]:
    """Find the place of the largest estimate^focus * upper_index among F > 0 options, and its estimate.

    Of equals the one of the largest observed probability is taken, and the first of those: many estimates may be 1.

    The model's execution probability is exp(-weights |change|). The estimate adds ``residual_weight`` times the
    difference between the observed probability and its expectation under the model. It is at least the smaller of
    model and observation, and within (0, 1].

    An option is skipped when a cheap bound shows that it cannot win. There are two bounds: one for options whose arm's
    upper index is at most the common one, which is that of the arms without outcomes, and one for the others.
    """
    person, arm, points, point, observed = options
    common, largest = common_and_largest(upper_index, arm)
    best, at, estimate = -1.0, 0, 0.0
    least, limit = (-math.inf, -math.inf), (math.inf, math.inf)
    for i in range(len(arm)):
        k = arm[i]
        group = 0 if upper_index[k] <= common else 1
        if residual_weight and upper_bound(1.0, observed[i], noise, residual_weight) < least[group] - SLACK:
            continue
        predictor = linear_predictor(person, points, point[i], weights)
        if predictor > limit[group]:
            continue
        e = math.exp(-predictor)
        if residual_weight:
            if upper_bound(e, observed[i], noise, residual_weight) < least[group] - SLACK:
                continue
            residual = observed[i] - mean_of_clipped(e, noise)
            e = min(max(e + residual_weight * residual, min(e, observed[i]), MIN_SHARE * e), 1.0)
        if e < least[group]:
            continue
        score = e**focus * upper_index[k]
        is_level = score == best and e == estimate and observed[i] > observed[at]
        if score > best or is_level or (score == 0.0 and best == 0.0 and e > estimate):
            best, at, estimate = score, i, e
            least = (least_estimate(best, common, focus), least_estimate(best, largest, focus))
            if not residual_weight:
                limit = (largest_predictor(least[0]), largest_predictor(least[1]))
    return at, estimate


@compiled
def common_and_largest(upper_index: Array, arm: Indices) -> tuple[float, float]:
    """The upper index that more than half of the arms (F,) have, an arbitrary one if there is none, and the largest."""
    common, largest, votes = 0.0, 0.0, 0
    for k in arm:
        largest = max(largest, upper_index[k])
        if not votes:
            common = upper_index[k]
        votes += 1 if upper_index[k] == common else -1
    return common, largest


@compiled
def least_estimate(score: float, upper_index: float, focus: float) -> float:
    """With this upper index or a smaller one, an estimate below the result does not reach the score."""
    return float((score * (1.0 - SLACK) / upper_index) ** (1.0 / focus))


@compiled
def largest_predictor(estimate: float) -> float:
    """The largest linear predictor whose execution probability is not below the estimate."""
    return -math.log(estimate) if estimate > 0.0 else math.inf


@compiled
def linear_predictor(person: Array, points: Array, row: int, weights: Array) -> float:
    """The weighted sum of the absolute changes from a person (D,) to one row of the points (M, D)."""
    total = 0.0
    for d in range(len(weights)):
        total += weights[d] * abs(points[row, d] - person[d])
    return total


@compiled
def mean_of_clipped(m: float, noise: float) -> float:
    """The mean of a normal variable of mean m and standard deviation ``noise``, clipped to [0, 1]."""
    if noise <= NO_NOISE:
        return m
    upper, lower = (1.0 - m) / noise, m / noise
    above, below = 0.5 * math.erfc(upper / math.sqrt(2.0)), 0.5 * math.erfc(lower / math.sqrt(2.0))
    densities = math.exp(-0.5 * lower * lower) - math.exp(-0.5 * upper * upper)
    return m * (1.0 - above - below) + noise * densities / math.sqrt(2.0 * math.pi) + above


@compiled
def upper_bound(m: float, observed: float, noise: float, residual_weight: float) -> float:
    """A bound on the estimate for this observation when the model's execution probability is at most m.

    Clipping moves the mean towards 1/2, never beyond it, and down by at most noise / sqrt(2 pi).
    """
    return max(m + residual_weight * (observed - max(min(m, 0.5), m - 0.4 * noise)), MIN_SHARE * m)


@compiled
def learn_execution(
    first: int, stride: int, keep: float, options: OptionArrays, neighbour: Indices, regression: Regression
) -> None:
    """Fit the model to every ``stride``-th of a step's options from ``first`` on, in place.

    ``neighbour`` (K,) is the nearest other arm of each arm. ``keep`` is the weight that earlier observations retain.
    """
    person, arm, points, point, observed = options
    _, _, weights, stats = regression
    noise = math.sqrt(stats[0] / stats[1])
    rows = 1 + (len(arm) - 1 - first) // stride
    place, change = np.empty(rows, np.intp), np.empty((rows, len(weights)))
    centre, expected = np.empty(rows), np.empty(rows)
    for row in range(rows):
        i = first + row * stride
        predictor = 0.0
        for d in range(len(weights)):
            change[row, d] = abs(points[point[i], d] - person[d])
            predictor += weights[d] * change[row, d]
        centre[row] = math.exp(-predictor)
        expected[row] = mean_of_clipped(centre[row], noise)
        place[row] = place_of(neighbour[arm[i]], arm)
    compare_neighbours(first, stride, noise, options, weights, stats, place, expected)
    fit(first, stride, keep, observed, change, centre, regression)


@compiled
def compare_neighbours(
    first: int,
    stride: int,
    noise: float,
    options: OptionArrays,
    weights: Array,
    stats: Array,
    place: Indices,
    expected: Array,
) -> None:
    """Compare the residual of each sampled option with that of its neighbour, at ``place``, in place.

    Neighbours outside the sample are used only when no sampled option has its neighbour in the sample.
    """
    person, _, points, point, observed = options
    pairs = 0
    for row in range(len(place)):
        j = place[row] - first
        if j >= -first and j != row * stride and j % stride == 0:
            pairs += 1
            i = first + row * stride
            add_pair(observed[i] - expected[row], observed[place[row]] - expected[j // stride], stats)
    if pairs:
        return
    for row in range(len(place)):
        i, j = first + row * stride, place[row]
        if j >= 0 and j != i:
            m = math.exp(-linear_predictor(person, points, point[j], weights))
            add_pair(observed[i] - expected[row], observed[j] - mean_of_clipped(m, noise), stats)


@compiled
def place_of(k: int, arm: Indices) -> int:
    """The place of arm k among the arms of a person's options, which ascend; -1 when it is not among them."""
    if k < len(arm) and arm[k] == k:
        return k
    place = int(np.searchsorted(arm, k))
    return place if place < len(arm) and arm[place] == k else -1


@compiled
def add_pair(one: float, other: float, stats: Array) -> None:
    """Add half the squared difference and the mean square of the residuals of two neighbours to ``stats``, in place."""
    stats[2] += 0.5 * (one - other) ** 2
    stats[3] += 0.5 * (one * one + other * other)


@compiled
def fit(
    first: int, stride: int, keep: float, observed: Array, change: Array, centre: Array, regression: Regression
) -> None:
    """Add the sampled options to the regression and the noise, linearised around the current weights, in place.

    An observation of 0 or 1 was clipped: its expectation before clipping takes its place (Tobin 1958).
    """
    information, target, weights, stats = regression
    noise = math.sqrt(stats[0] / stats[1])
    information *= keep
    target *= keep
    stats *= keep
    for row in range(len(centre)):
        value, m = observed[first + row * stride], centre[row]
        square = (value - m) ** 2
        if (value >= 1.0 or value <= 0.0) and noise > NO_NOISE:
            side = 1.0 if value >= 1.0 else -1.0
            u = (1.0 - m if value >= 1.0 else m) / noise
            tail = 0.5 * math.erfc(u / math.sqrt(2.0))
            hazard = math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi) / tail if u < 6.0 else u + 1.0 / u
            value, square = m + side * noise * hazard, noise * noise * (1.0 + u * hazard)
        stats[0] += square
        stats[1] += 1.0
        residual = value - m
        for d in range(len(weights)):
            residual -= m * weights[d] * change[row, d]
        for a in range(len(weights)):
            slope = -m * change[row, a]
            target[a] += slope * residual
            for b in range(a + 1):
                information[a, b] -= slope * m * change[row, b]
