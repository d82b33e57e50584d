"""Execution probabilities that are given with noise, and what they would be without."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from .contract import Array, State
from .efforts import Efforts

RIDGE = 1.0
"""Precision of the prior that every weight is 1/D."""

ROWS = 32
"""A step fits at most so many of its candidates, so that it takes little longer when there are thousands."""

STEPS, SHARE = 10.0, 0.3
"""By step t, what was fitted more than about STEPS + SHARE t steps ago is forgotten: it was linearised around weights
that were worse."""

NO_NOISE = 1e-3
"""Noise of a smaller standard deviation is taken to clip nothing."""

AT_FIRST = (0.05, 5.0, 0.0, 0.0)
"""Before anything is read, five readings with noise of standard deviation 0.1, and no residuals."""

LITTLE = 0.01
"""Less trust is none."""

NOTHING = 1e-4
"""Residuals whose squares sum up to less say nothing about noise."""


class Readings:
    """Estimates execution probabilities from noisy readings of them, clipped to [0, 1].

    The model is that a reading is exp(-w |change|) plus normal noise, clipped. A reading of 0 or 1 tells that it was
    beyond before clipping; the expectation of where takes its place (censored regression, a step of
    expectation-maximisation at a time). When the readings follow another rule than the model's, what they differ by is
    no noise and is to be believed. The two are told apart by neighbours: of two candidates that are nearly the same,
    noise differs and a rule does not. The share of the residual variance that neighbours have in common is the part of
    a residual that is added to the model's estimate.

    Parameters
    ----------
    points
        The candidates, shape (K, D).

    References
    ----------
    Tobin, J. (1958). Estimation of Relationships for Limited Dependent Variables. Econometrica.
    Matheron, G. (1963). Principles of Geostatistics. Economic Geology. The nugget of a variogram.
    """

    def __init__(self, points: Array) -> None:
        candidates, columns = points.shape
        self._points = np.ascontiguousarray(points, dtype=np.float64)
        self._efforts = Efforts(np.full(columns, 1.0 / max(columns, 1)), RIDGE * np.eye(columns))
        self._scatter = np.array(AT_FIRST)
        self._neighbour = np.empty(candidates, dtype=np.intp)
        find_neighbours(self._points, self._neighbour)
        self._place = np.zeros(candidates, dtype=np.intp)
        self._change = np.empty((candidates, columns))
        self._centre, self._expected = np.empty(candidates), np.empty(candidates)

    def estimate(self, t: int, person: Array, feasible: NDArray[np.intp], given: Array) -> Array:
        """Learn from the readings ``given`` (F,) of step t, F > 0, and tell what they stand for, shape (F,).

        The array that is returned is used again in the next step.
        """
        efforts, scatter, change = self._efforts, self._scatter, self._change
        centre, expected = self._centre[: len(given)], self._expected[: len(given)]
        stride = 1 + (len(given) - 1) // ROWS
        read(
            t % stride,
            stride,
            self._noise(),
            1.0 - 1.0 / (STEPS + SHARE * t),
            person,
            self._points,
            feasible,
            given,
            self._neighbour,
            efforts.information,
            efforts.target,
            efforts.weights,
            scatter,
            self._place,
            change,
            centre,
            expected,
        )
        efforts.solve()
        trust = self._trust()
        noise = self._noise() if trust else 0.0
        clear(noise, trust, person, self._points, feasible, given, efforts.weights, change, centre, expected)
        return centre

    def _noise(self) -> float:
        return math.sqrt(self._scatter.item(0) / self._scatter.item(1))

    def _trust(self) -> float:
        """The part of a residual that is believed. Neighbours are not quite the same, and chance makes residuals alike:
        the share that they have in common is sharpened towards 0 or 1."""
        common = min(max(1.0 - self._scatter.item(2) / (self._scatter.item(3) + NOTHING), 0.0), 1.0)
        trust = common**2 / (common**2 + (1.0 - common) ** 2)
        return trust if trust >= LITTLE else 0.0

    def state(self) -> dict[str, NDArray[Any]]:
        """``information`` (D, D) and ``target`` (D,) of the efforts, and ``scatter`` (4,): the sum of squared noise, of
        how many readings, and the sums of neighbours' squared residuals' differences, halved, and of their means."""
        return {**self._efforts.state(), "scatter": self._scatter.copy()}

    def restore(self, state: State) -> None:
        """Continue from a state of the same candidates."""
        self._efforts.restore(state)
        self._scatter = np.array(state["scatter"], dtype=np.float64)

    def merge(self, other: Readings) -> None:
        """Add what another learner has read."""
        self._efforts.merge(other._efforts)
        self._scatter += other._scatter


@compiled
def find_neighbours(points: Array, neighbour: NDArray[np.intp]) -> None:
    """Put the nearest other candidate of each, by the sum of absolute differences, into ``neighbour`` (K,)."""
    for k in range(len(points)):
        nearest = math.inf
        neighbour[k] = k
        for j in range(len(points)):
            distance = 0.0
            for d in range(points.shape[1]):
                distance += abs(points[k, d] - points[j, d])
            if j != k and distance < nearest:
                nearest, neighbour[k] = distance, j


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
    """Learn from a step's readings ``given`` (F,) what ``compare`` and ``fit`` do, in place."""
    expect(first, stride, noise, person, points, feasible, weights, change, centre, expected)
    for i in range(len(feasible)):
        place[feasible[i]] = i
    # Where candidates that are alike stand side by side, none is read together with its neighbour.
    if not compare(first, stride, False, feasible, given, expected, neighbour, place, scatter):
        for i in range(first, len(feasible), stride):
            j = beside(i, feasible, neighbour, place)
            if j != i:
                expect(j, len(feasible), noise, person, points, feasible, weights, change, centre, expected)
        compare(first, stride, True, feasible, given, expected, neighbour, place, scatter)
    fit(first, stride, fade, given, change, centre, information, target, weights, scatter)


@compiled
def clear(
    noise: float,
    trust: float,
    person: Array,
    points: Array,
    feasible: NDArray[np.intp],
    given: Array,
    weights: Array,
    change: Array,
    centre: Array,
    expected: Array,
) -> None:
    """Put the estimates of a step's execution probabilities into ``centre`` (F,): the model's, and the part ``trust``
    of what its readings differ from it, within [0, 1]."""
    expect(0, 1, noise, person, points, feasible, weights, change, centre, expected)
    if trust:
        for i in range(len(centre)):
            centre[i] = min(max(centre[i] + trust * (given[i] - expected[i]), 0.0), 1.0)


@compiled
def expect(
    first: int,
    stride: int,
    noise: float,
    person: Array,
    points: Array,
    feasible: NDArray[np.intp],
    weights: Array,
    change: Array,
    centre: Array,
    expected: Array,
) -> None:
    """For every ``stride``-th feasible candidate from ``first`` on, put the absolute changes into ``change`` (F, D),
    the model's execution probability into ``centre`` and the mean of its readings into ``expected`` (F,)."""
    for i in range(first, len(centre), stride):
        effort = 0.0
        for d in range(len(weights)):
            change[i, d] = abs(points[feasible[i], d] - person[d])
            effort += weights[d] * change[i, d]
        m = math.exp(-effort)
        centre[i] = expected[i] = m
        if noise > NO_NOISE:
            upper, lower = (1.0 - m) / noise, m / noise
            above, below = 0.5 * math.erfc(upper / math.sqrt(2.0)), 0.5 * math.erfc(lower / math.sqrt(2.0))
            bend = math.exp(-0.5 * lower * lower) - math.exp(-0.5 * upper * upper)
            expected[i] = m * (1.0 - above - below) + noise * bend / math.sqrt(2.0 * math.pi) + above


@compiled
def beside(i: int, feasible: NDArray[np.intp], neighbour: NDArray[np.intp], place: NDArray[np.intp]) -> int:
    """Where the neighbour of the i-th feasible candidate stands among them; i when it is not feasible, or is none.

    ``place`` (K,) tells where each feasible candidate stands; of the others it tells nothing.
    """
    near = neighbour[feasible[i]]
    j: int = place[near]
    return j if j < len(feasible) and feasible[j] == near else i


@compiled
def compare(
    first: int,
    stride: int,
    unread: bool,
    feasible: NDArray[np.intp],
    given: Array,
    expected: Array,
    neighbour: NDArray[np.intp],
    place: NDArray[np.intp],
    scatter: Array,
) -> int:
    """Add to ``scatter`` what the residuals of candidates that are read and of their neighbours, read or ``unread``,
    differ by and what they have. Tell how many pairs there are."""
    pairs = 0
    for i in range(first, len(feasible), stride):
        j = beside(i, feasible, neighbour, place)
        if j == i or ((j - first) % stride != 0) != unread:
            continue
        pairs += 1
        one, other = given[i] - expected[i], given[j] - expected[j]
        scatter[2] += 0.5 * (one - other) ** 2
        scatter[3] += 0.5 * (one * one + other * other)
    return pairs


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
    for i in range(first, len(given), stride):
        value, m = given[i], centre[i]
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
            aim -= m * weights[d] * change[i, d]
        for a in range(len(weights)):
            slope = -m * change[i, a]
            target[a] += slope * aim
            for b in range(a + 1):
                information[a, b] -= slope * m * change[i, b]
