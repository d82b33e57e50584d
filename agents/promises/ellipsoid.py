"""The promise of an ellipsoid: as that of a ball, in the directions in which retraining really moves the parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..compiled import compiled
from .ball import log_odds, logit
from .contract import Array, LinearScore, Promise, Score
from .lp import NOT_LINEAR, WorstCaseScore


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
        found = np.empty_like(rows)
        # Row by row in the same order: a product of matrices would depend on the other rows.
        multiply(np.ascontiguousarray(rows), np.ascontiguousarray(self.covariance), found)
        return found

    def slopes(self, points: Array) -> Array:
        """How fast these norms grow with each column, (n, D), of points (n, D)."""
        rows, norms = np.column_stack([points, np.ones(len(points))]), self.norms(points)
        return np.asarray(self._spread(rows)[:, :-1] / np.where(norms > 0.0, norms, 1.0)[:, np.newaxis])

    def worst_case(self, points: Array, weights: Array, bias: float) -> Array:
        """The least log odds, (n,), of points (n, D) under the models around ``weights`` (D,)."""
        return log_odds(points, weights, bias) - self.radius * self.norms(points)


class EllipsoidPromise(Promise):
    r"""Guarantees an option while the parameters stay within an ellipsoid around the current ones.

    The numbers are those of ``LpPromise``, with distances in standard deviations of the retrained parameters. It needs
    ``covariance`` (D + 1, D + 1) and ``radius``, both measured by ``drift_ellipsoid``.

    Examples
    --------
    >>> class Line:
    ...     weights, bias = np.array([3.0]), -1.0
    ...     def __call__(self, X):
    ...         return 1 / (1 + np.exp(-(X @ self.weights + self.bias)))
    >>> promise = EllipsoidPromise()
    >>> promise.equip(covariance=np.diag([0.09, 0.16]), radius=2.0)
    >>> promise.guarantee(np.array([1.0]), Line())
    {'radius': 2.0, 'margin': 1.0, 'alpha_max': 4.0}
    """

    name: ClassVar[str] = "ellipsoid"
    needs: ClassVar[frozenset[str]] = frozenset({"covariance", "radius"})

    def __init__(self) -> None:
        super().__init__()
        self._models: Ellipsoid | None = None

    def equip(self, **artefacts: Any) -> None:
        """Take the covariance and the radius; raise ``ValueError`` for those that make no ellipsoid."""
        super().equip(**artefacts)
        self._models = Ellipsoid(np.asarray(artefacts["covariance"], dtype=np.float64), float(artefacts["radius"]))

    @property
    def models(self) -> Ellipsoid:
        """The models under which the promise holds."""
        assert self._models is not None, "call `equip` before anything is guaranteed"
        return self._models

    def misfit(self, score: Score) -> str | None:
        """Only a linear score can carry it, of as many columns as the covariance, once there is one."""
        if not isinstance(score, LinearScore):
            return NOT_LINEAR
        if self._models is None:
            return None
        columns = len(self.models.covariance) - 1
        given = len(score.weights)
        return None if given == columns else f"it has {given} columns, and the covariance was measured for {columns}"

    def robust(self, score: Score) -> Score:
        """The worst-case score; the model's own where it is not linear."""
        return WorstCaseScore(score, self.models) if isinstance(score, LinearScore) else score

    def guarantee(self, target: Array, score: Score, required: float = 0.5) -> dict[str, float] | None:
        """The radius, the worst-case margin in log odds, and alpha_max, None where the norm is 0."""
        if not isinstance(score, LinearScore) or self.misfit(score) is not None or not 0.0 < required < 1.0:
            return None
        row = target[np.newaxis]
        odds, norm = log_odds(row, score.weights, score.bias).item() - logit(required), self.models.norms(row).item()
        found = {"radius": self.models.radius, "margin": odds - self.models.radius * norm}
        return found | {"alpha_max": odds / norm} if norm > 0.0 else found


@compiled
def multiply(rows: Array, matrix: Array, found: Array) -> None:
    """Write the products of a symmetric matrix (D, D) with each row, (n, D), to ``found`` (n, D)."""
    for i in range(len(rows)):
        for d in range(len(matrix)):
            total = 0.0
            for e in range(len(matrix)):
                total += matrix[d, e] * rows[i, e]
            found[i, d] = total
