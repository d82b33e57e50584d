"""Execution probabilities that are given with noise, and what they would be without."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract import Array, State
from .change_weights import ChangeWeights
from .execution_kernels import most_promising, read
from .nearest import nearest_others

RIDGE = 1.0
"""Precision of the prior that every weight is 1/D."""

ROWS = 32
"""A step fits at most so many of its candidates, so that it takes little longer when there are thousands."""

STEPS, SHARE = 10.0, 0.3
"""By step t, what was fitted more than about STEPS + SHARE t steps ago is forgotten: it was linearised around weights
that were worse."""

AT_FIRST = (0.05, 5.0, 0.0, 0.0)
"""Before anything is read, five readings with noise of standard deviation 0.1, and no residuals."""

LITTLE = 0.01
"""Less trust is none."""

NOTHING = 1e-4
"""Residuals whose squares sum up to less say nothing about noise."""


class ExecutionModel:
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
        columns = points.shape[1]
        self._points = np.ascontiguousarray(points, dtype=np.float64)
        self._efforts = ChangeWeights(np.full(columns, 1.0 / max(columns, 1)), RIDGE * np.eye(columns))
        self._scatter = np.array(AT_FIRST)
        self._neighbour = nearest_others(self._points)
        self._change = np.empty((ROWS, columns))
        self._centre, self._expected = np.empty(ROWS), np.empty(ROWS)
        self._place = np.empty(ROWS, dtype=np.intp)

    def learn(self, t: int, person: Array, feasible: NDArray[np.intp], given: Array) -> None:
        """Learn from the readings ``given`` (F,) of step t, F > 0."""
        efforts = self._efforts
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
            self._scatter,
            self._place,
            self._change,
            self._centre,
            self._expected,
        )
        efforts.solve()

    def most_promising(
        self, person: Array, feasible: NDArray[np.intp], given: Array, promise: Array, focus: float
    ) -> tuple[int, float]:
        """Tell where the feasible candidate with the largest estimate^focus * promise stands, F > 0, and its estimate:
        what its reading stands for. ``promise`` (K,) is above 0."""
        return most_promising(
            person,
            self._points,
            feasible,
            given,
            self._efforts.weights,
            self._noise(),
            self._trust(),
            promise,
            focus,
        )

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
