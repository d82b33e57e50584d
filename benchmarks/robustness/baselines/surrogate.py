"""Local linear surrogates of a model without a linear score. A baseline: nothing they certify holds for the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onward.agents.candidates.contract import Array, Score
from onward.agents.sigmoid import LARGEST_ODDS, bounded_sigmoid, logit

EDGE = 1e-6
"""Scores nearer to 0 or 1 count as that, so that their log odds are finite."""


@dataclass(frozen=True)
class Surrogate:
    """A linear score that is near a model's around one point: log odds ``weights`` (D,) x + ``bias``."""

    weights: Array
    bias: float

    def __call__(self, X: Array) -> Array:
        """The scores, (n,), of encoded rows (n, D)."""
        return np.asarray(bounded_sigmoid(X @ self.weights + self.bias, LARGEST_ODDS))


def log_odds_of(score: Score, rows: Array) -> Array:
    """A model's log odds, (n,), of rows (n, D)."""
    return logit(score(rows), EDGE)


def gradient_surrogate(score: Score, point: Array, step: float = 1e-4) -> Surrogate:
    """The tangent of a model's log odds at a point (D,), by central differences: flat where the model is piecewise so.

    Examples
    --------
    >>> found = gradient_surrogate(Surrogate(np.array([2.0, -1.0]), 0.5), np.array([0.3, 0.4]))
    >>> found.weights.round(4), round(found.bias, 4)
    (array([ 2., -1.]), 0.5)
    """
    shifts = step * np.eye(len(point))
    odds = log_odds_of(score, np.vstack([point + shifts, point - shifts, point]))
    weights = (odds[: len(point)] - odds[len(point) : -1]) / (2.0 * step)
    return Surrogate(weights, float(odds[-1] - weights @ point))


def sampled_surrogate(
    score: Score,
    point: Array,
    random: np.random.Generator,
    width: float = 0.5,
    samples: int = 1000,
    ridge: float = 1e-3,
) -> Surrogate:
    """The weighted ridge regression of a model's log odds on normal samples around a point (D,), as LIME fits one.

    ``width`` is the standard deviation of the samples, in encoded units, and that of the kernel that weights them.

    References
    ----------
    Ribeiro, M. T., Singh, S. and Guestrin, C. (2016). "Why Should I Trust You?". KDD.
    """
    rows = point + random.normal(0.0, width, (samples, len(point)))
    weight = np.exp(-((rows - point) ** 2).mean(axis=1) / (2.0 * width**2))
    odds = log_odds_of(score, rows)
    design = np.column_stack([rows - point, np.ones(samples)])
    penalty = ridge * samples * width**2 * np.diag(np.append(np.ones(len(point)), 0.0))
    fitted = np.linalg.solve(design.T @ (weight[:, np.newaxis] * design) + penalty, design.T @ (weight * odds))
    return Surrogate(fitted[:-1], float(fitted[-1] - fitted[:-1] @ point))
