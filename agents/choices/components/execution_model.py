"""Execution probabilities estimated from noisy observations of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...costs.change_weights import ChangeWeights
from ...options import Options
from ..contract import Array, State
from .execution_kernels import best_option, learn_execution
from .nearest import nearest_others

RIDGE = 1.0
"""Prior precision of every weight; the prior mean is 1/D."""

SAMPLE = 32
"""The most options that a step fits, so that a step among thousands takes little longer."""

MEMORY_STEPS, MEMORY_SHARE = 10.0, 0.3
"""At step t the fit has a memory of MEMORY_STEPS + MEMORY_SHARE t steps: older observations were linearised around
worse weights."""

INITIAL_NOISE = (0.05, 5.0, 0.0, 0.0)
"""Noise statistics before any observation: five observations with a standard deviation of 0.1, no residuals."""

MIN_RESIDUAL_WEIGHT = 0.01
"""A smaller residual weight is set to 0."""

MIN_RESIDUAL = 1e-4
"""Sums of squared residuals below this are too small to tell noise from misfit."""


class ExecutionModel:
    """Estimates execution probabilities from noisy observations of them, clipped to [0, 1].

    The model is that an observation is exp(-w |change|) plus normal noise, clipped. For an observation of 0 or 1 the
    expectation before clipping takes its place (censored regression, one step of expectation-maximisation at a time).

    When the execution probabilities follow another rule than the model, their residuals are misfit, not noise, and the
    estimate must keep them. Neighbours separate the two: of two arms that are nearly the same, the noise
    differs and the misfit does not. The share of the residual variance that neighbours have in common, sharpened, is
    the *residual weight*: the part of a residual that is added to the model's estimate.

    Parameters
    ----------
    points
        The arms, shape (K, D).

    References
    ----------
    Tobin, J. (1958). Estimation of Relationships for Limited Dependent Variables. Econometrica.
    Matheron, G. (1963). Principles of Geostatistics. Economic Geology. The nugget of a variogram.
    """

    def __init__(self, points: Array) -> None:
        columns = points.shape[1]
        self._weights = ChangeWeights(np.full(columns, 1.0 / max(columns, 1)), RIDGE * np.eye(columns))
        self._noise_stats = np.array(INITIAL_NOISE)
        self._neighbour = nearest_others(points)
        self._regression = self._weights.information, self._weights.target, self._weights.weights, self._noise_stats

    def learn(self, t: int, options: Options) -> None:
        """Learn from the observed execution probabilities of step t's F > 0 options."""
        stride = 1 + (len(options.arm) - 1) // SAMPLE
        keep = 1.0 - 1.0 / (MEMORY_STEPS + MEMORY_SHARE * t)
        learn_execution(t % stride, stride, keep, options[:5], self._neighbour, self._regression)
        self._weights.solve()

    def best_option(self, options: Options, upper_index: Array, focus: float) -> tuple[int, float]:
        """Find the place of the option with the largest estimate^focus * upper_index, and its estimate.

        There are F > 0 options; ``upper_index`` (K,) is above 0. Of equals the one of the largest
        observed probability is taken, then the first.
        """
        noise, weight = self._noise(), self._residual_weight()
        return best_option(options[:5], self._weights.weights, noise, weight, upper_index, focus)

    def state(self) -> dict[str, NDArray[Any]]:
        """``information`` (D, D), ``target`` (D,) and ``noise_stats`` (4,).

        The latter are the sum of squared noise, the number of observations, and of pairs of neighbours the sums of
        half their residuals' squared difference and of their residuals' mean square.
        """
        return {**self._weights.state(), "noise_stats": self._noise_stats.copy()}

    def restore(self, state: State) -> None:
        """Continue from a state of the same arms."""
        self._weights.restore(state)
        self._noise_stats[:] = state["noise_stats"]

    def _noise(self) -> float:
        return math.sqrt(self._noise_stats.item(0) / self._noise_stats.item(1))

    def _residual_weight(self) -> float:
        """The part of a residual that is kept.

        Neighbours are not quite the same, and residuals are alike by chance too. So the share that they have in common
        is sharpened towards 0 or 1.
        """
        common = min(max(1.0 - self._noise_stats.item(2) / (self._noise_stats.item(3) + MIN_RESIDUAL), 0.0), 1.0)
        weight = common**2 / (common**2 + (1.0 - common) ** 2)
        return weight if weight >= MIN_RESIDUAL_WEIGHT else 0.0
