"""Learned difficulty: how hard each feature is to change, from changes that succeeded and failed."""

from __future__ import annotations

import numpy as np

from ..arrays import Array as Array
from ..arrays import Indices, Mask
from ..states import State, check_state

POINTS = 100
"""Number G of difficulties on the grid: 1/G, 2/G, ... 1."""
LEAST_ATTAINABILITY, MOST_ATTAINABILITY = 1e-9, 1e9
"""What lies beyond fails, or succeeds, whatever the difficulty."""


class DifficultyPosterior:
    r"""A posterior of each feature's difficulty $d$ on a grid.

    A change with attainability $a$ fails with probability $\exp(-\theta a)$, $\theta = \beta / d$: a complementary
    log-log model with one unknown a feature. Each observation adds to the log likelihood of all G difficulties on the
    grid, $-\theta a$ for a failure and $\log(1 - \exp(-\theta a))$ for a success. So the state is D G numbers whatever
    was seen, and the order of the observations does not matter. The prior is uniform on the grid.

    Only $\theta$ can be learned from successes and failures. With a wrong $\beta$ the difficulties are off by its
    factor, and all probabilities are right as long as the grid reaches far enough.

    Parameters
    ----------
    features
        Number D of features.
    beta
        $\beta$, above 0: how likely changes succeed in this program.

    Examples
    --------
    >>> posterior = DifficultyPosterior(features=2, beta=0.05)
    >>> posterior.difficulty.round(2)
    array([0.5, 0.5])
    >>> seen = np.array([0, 0, 0, 1, 1, 1])
    >>> posterior.update(seen, np.full(6, 10.0), np.array([True, True, True, False, False, False]))
    >>> posterior.difficulty.round(2)
    array([0.28, 0.78])
    >>> posterior.success(np.array([[10.0, np.inf]])).round(2)
    array([[0.84, 1.  ]])

    References
    ----------
    Ceccon, M., Fabris, A., Radanovic, G., Biega, A. J. and Susto, G. A. (2025). Reinforcement Learning for Durable
    Algorithmic Recourse. arXiv 2509.22102. Equation 8; the paper's own update is another (``docs/difficulty.md``).
    """

    def __init__(self, features: int, beta: float) -> None:
        self.beta = beta
        self._grid = np.arange(1, POINTS + 1) / POINTS
        self._log_likelihood = np.zeros((features, POINTS))

    def update(self, feature: Indices, attainability: Array, succeeded: Mask) -> None:
        """Learn from R changes: of which ``feature`` (R,), with what attainability (R,), and whether it succeeded."""
        exponent = self.beta * np.clip(attainability, LEAST_ATTAINABILITY, MOST_ATTAINABILITY)[:, None] / self._grid
        log_success = np.log(-np.expm1(-exponent))
        np.add.at(self._log_likelihood, feature, np.where(succeeded[:, None], log_success, -exponent))

    @property
    def has_learned(self) -> bool:
        """Whether any change has been observed."""
        return bool(self._log_likelihood.any())

    @property
    def weights(self) -> Array:
        """The posterior probabilities, (D, G)."""
        weights = np.exp(self._log_likelihood - self._log_likelihood.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    @property
    def difficulty(self) -> Array:
        """The posterior means, (D,)."""
        return np.asarray((self.weights * self._grid).sum(axis=1))

    @property
    def theta(self) -> Array:
        """beta / d at the posterior means, (D,): what a recommender takes."""
        return self.beta / self.difficulty

    def success(self, attainability: Array) -> Array:
        """The predicted probability, (n, D), that each change succeeds, of attainability (n, D): 1 where none is.

        It is the mean over the posterior. The product over a plan's features is the probability that it succeeds.
        """
        exponent = self.beta * np.maximum(attainability, 0.0)[:, :, None] / self._grid
        return np.asarray((-np.expm1(-exponent) * self.weights).sum(axis=2))

    def state(self) -> State:
        """Everything that was learned."""
        return {"log_likelihood": self._log_likelihood.copy()}

    def restore(self, state: State) -> None:
        """Continue where a posterior of the same size stood.

        Raise ``ValueError`` when the state is not one of such a posterior; nothing is changed then.
        """
        check_state(state, self.state(), "posterior")
        self._log_likelihood = state["log_likelihood"].copy()
