"""The models near a linear one: an ellipsoid by the covariance of their parameters, and what it does to log odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..compiled import compiled
from .ball import Array, log_odds


@dataclass(frozen=True)
class Ellipsoid:
    r"""All linear models with $(\theta - \theta_0)^T \Sigma^{-1} (\theta - \theta_0) \le \kappa^2$.

    Over it the log odds are at least $w x + b - \kappa \sqrt{(x, 1)^T \Sigma (x, 1)}$.

    Parameters
    ----------
    covariance
        $\Sigma$ (D + 1, D + 1), symmetric and positive semidefinite, the intercept last.
    radius
        $\kappa$, 0 or more, in standard deviations.

    Raises
    ------
    ValueError
        For another radius or matrix.
    """

    covariance: Array
    radius: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.radius < np.inf:
            raise ValueError(f"radius is {self.radius}: give a finite number, 0 or more")
        matrix = np.asarray(self.covariance)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
            raise ValueError(f"the covariance has the shape {matrix.shape}: give a finite square matrix")
        least = np.linalg.eigvalsh(matrix).min() if np.allclose(matrix, matrix.T, rtol=1e-9) else -np.inf
        if least < -1e-9 * max(1.0, float(np.trace(matrix))):
            raise ValueError("the covariance is not symmetric and positive semidefinite")

    def norms(self, points: Array) -> Array:
        """``sqrt((x, 1) covariance (x, 1))``, (n,), of points (n, D)."""
        rows = np.column_stack([points, np.ones(len(points))])
        return np.asarray(np.sqrt(np.maximum((rows * self._spread(rows)).sum(axis=1), 0.0)))

    def _spread(self, rows: Array) -> Array:
        """``covariance (x, 1)``, (n, D + 1), of rows (x, 1)."""
        products = np.empty_like(rows)
        # Row by row in the same order: a product of matrices would depend on the other rows.
        multiply(np.ascontiguousarray(rows), np.ascontiguousarray(self.covariance), products)
        return products

    def slopes(self, points: Array) -> Array:
        """The slopes of these norms at points (n, D), one for each column, (n, D)."""
        rows, norms = np.column_stack([points, np.ones(len(points))]), self.norms(points)
        return np.asarray(self._spread(rows)[:, :-1] / np.where(norms > 0.0, norms, 1.0)[:, np.newaxis])

    def worst_case(self, points: Array, weights: Array, bias: float) -> Array:
        """The least log odds, (n,), of points (n, D) under the models around ``weights`` (D,)."""
        return log_odds(points, weights, bias) - self.radius * self.norms(points)


@compiled
def multiply(rows: Array, matrix: Array, products: Array) -> None:
    """Write the products of a symmetric matrix (D, D) with each row, (n, D), to ``products`` (n, D)."""
    for i in range(len(rows)):
        for d in range(len(matrix)):
            total = 0.0
            for e in range(len(matrix)):
                total += matrix[d, e] * rows[i, e]
            products[i, d] = total
