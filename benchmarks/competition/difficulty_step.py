"""The paper's update of difficulties, one step an observation."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from onward.agents.costs.difficulty import LEAST_ATTAINABILITY, MOST_ATTAINABILITY, Array


class DifficultyStep:
    r"""Moves a feature's difficulty by a step at every observed change, starting from 0.5.

    $d \leftarrow d + \eta (f - \exp(-\beta a / d))$ with $\eta = 0.05 / (1 + V)$, where $f$ is 1 for a failure, else 0,
    and $V$ is the number of earlier observations of the feature: the difficulty rises when a change fails more than
    predicted. The steps shrink so fast that it is far from the truth after tens of thousands of observations.

    Parameters
    ----------
    features
        Number D of features.
    beta
        $\beta$, above 0.
    start, rate
        The first difficulty, and the first step.

    Examples
    --------
    >>> step = DifficultyStep(features=1, beta=0.05)
    >>> step.update(np.array([0]), np.array([10.0]), np.array([False]))
    >>> step.difficulty.round(4)
    array([0.5316])

    References
    ----------
    Ceccon, M., Fabris, A., Radanovic, G., Biega, A. J. and Susto, G. A. (2025). Reinforcement Learning for Durable
    Algorithmic Recourse. arXiv 2509.22102. Equations 12 to 14.
    """

    lowest: ClassVar[float] = 0.01
    """Difficulties stay between this and 1."""

    def __init__(self, features: int, beta: float, start: float = 0.5, rate: float = 0.05) -> None:
        self.beta, self._rate = beta, rate
        self.difficulty = np.full(features, start)
        self._observations = np.zeros(features, dtype=np.int64)

    def update(self, feature: NDArray[np.intp], attainability: Array, succeeded: NDArray[np.bool_]) -> None:
        """Learn from R changes, one after the other; the arguments are those of ``DifficultyPosterior``."""
        attainable = np.clip(attainability, LEAST_ATTAINABILITY, MOST_ATTAINABILITY)
        for d, a, success in zip(feature.tolist(), attainable.tolist(), succeeded.tolist(), strict=True):
            surprise = (not success) - np.exp(-self.beta * a / self.difficulty[d])
            moved = self.difficulty[d] + self._rate / (1 + self._observations[d]) * surprise
            self.difficulty[d] = min(max(moved, self.lowest), 1.0)
            self._observations[d] += 1

    @property
    def theta(self) -> Array:
        """beta / d, (D,)."""
        found: Array = self.beta / self.difficulty
        return found
