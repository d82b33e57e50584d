"""Effort: how hard changes are, all and by feature, as outcomes correct what was assumed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .contract import Array

LEAST_EXECUTION = 1e-12
"""Execution probabilities count as no smaller, so that their logarithms are finite."""
LEVEL_SD, FEATURE_SD = 1.0, 0.25
"""The standard deviations of the level and of what features differ by, before any outcome."""
LEVEL_RANGE, FEATURE_RANGE = (-3.0, 4.0), (-0.9, 5.0)
"""They count as no lower and no higher: far away the model means nothing."""


def assumed_effort(execution: Array) -> Array:
    """The effort that options are thought to take, by their execution probabilities (P,): minus the logarithms."""
    return np.asarray(-np.log(np.maximum(execution, LEAST_EXECUTION)))


class Effort(NamedTuple):
    r"""An option is carried out with the probability $\exp(-e^\kappa \sum_f (1 + \delta_f) a_f)$.

    $a_f$ is the effort that the change of feature f is thought to take. ``level`` is $\kappa$, ``features`` (F,) are
    $\delta$: 0 where all is as thought.

    Examples
    --------
    >>> effort = Effort(np.log(2.0), np.array([0.0, 0.5]))
    >>> log_execution, _ = effort.log_execution(np.array([0.3]), np.array([[0.1, 0.2]]))
    >>> log_execution.round(2), effort.difficulty
    (array([-0.8]), array([2., 3.]))
    """

    level: float
    features: Array

    @property
    def difficulty(self) -> Array:
        """How many times as hard as assumed each feature's changes are, (F,)."""
        return np.asarray(np.exp(self.level) * (1.0 + self.features))

    def log_execution(self, assumed: Array, effort: Array) -> tuple[Array, Array]:
        """The logarithms of the execution probabilities, (P,), and their slopes by the features, (P, F).

        ``effort`` (P, F) is what each change is thought to take, ``assumed`` (P,) what all do. The slope by the level
        is the logarithm itself.
        """
        factor = np.exp(self.level)
        return -factor * (assumed + effort @ self.features), -factor * effort
