"""The radius of a promise: how far bootstrapped retrains lie from the parameters of a linear model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..scores import LinearScore, Score
from .ball import Array, LpBall
from .covariance import Ellipsoid

LEAST_RATIO = 1e-6
"""The least eigenvalue of the covariance, of its mean one: directions that no retrain took stay possible."""


def drift_radius(centre: LinearScore, weights: Array, bias: Array, p: float, share: float) -> float:
    """The radius of the ball around a model that holds a share of B retrains, (B, D) and (B,).

    Examples
    --------
    >>> class Line:
    ...     weights, bias = np.zeros(1), 0.0
    ...     def __call__(self, X):
    ...         return X[:, 0]
    >>> drift_radius(Line(), np.arange(10.0)[:, np.newaxis], np.zeros(10), p=2, share=0.9)
    8.0
    """
    check_share(share, len(weights))
    drift = LpBall(0.0, p).drift(weights - centre.weights, bias - centre.bias)
    return float(np.quantile(drift, share, method="inverted_cdf"))


def drift_ellipsoid(centre: LinearScore, weights: Array, bias: Array, share: float) -> Ellipsoid:
    """The ellipsoid around a model, shaped by the covariance of B retrains, (B, D) and (B,), with a share of them.

    Second moments are taken around the model itself, so a bias of retraining widens the ellipsoid.
    """
    check_share(share, len(weights))
    moved = np.column_stack([weights - centre.weights, bias - centre.bias])
    covariance = moved.T @ moved / len(moved)
    covariance = 0.5 * (covariance + covariance.T)
    size = np.trace(covariance) / len(covariance)
    covariance += LEAST_RATIO * max(size, 1e-300) * np.eye(len(covariance))
    distance = np.sqrt((moved * np.linalg.solve(covariance, moved.T).T).sum(axis=1))
    return Ellipsoid(covariance, float(np.quantile(distance, share, method="inverted_cdf")))


def linear_parameters(retrains: Sequence[Score]) -> tuple[Array, Array]:
    """The weights (B, D) and the biases (B,) of those retrains whose scores are linear."""
    linear = [retrain for retrain in retrains if isinstance(retrain, LinearScore)]
    return np.array([retrain.weights for retrain in linear]), np.array([retrain.bias for retrain in linear])


def check_share(share: float, retrains: int) -> None:
    """Raise ``ValueError`` for a share or a number of retrains that give no quantile."""
    if retrains < 1:
        raise ValueError("there are no retrains: give the parameters of at least one")
    if not 0.0 < share <= 1.0:
        raise ValueError(f"share is {share}: give one above 0, at most 1")
