"""The promise of an ellipsoid: as that of a ball, in the directions in which retraining really moves the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from .calibration import drift_ellipsoid, linear_parameters
from .contract import LinearScore, Score
from .covariance import Ellipsoid as Ellipsoid
from .radius import NOT_LINEAR, Quantile, Radius, RadiusPromise


class EllipsoidPromise(RadiusPromise):
    r"""Guarantees an option while the parameters stay within an ellipsoid around the current ones.

    The numbers are those of ``LpPromise``, with distances in standard deviations of the retrained parameters. It needs
    ``covariance`` (D + 1, D + 1), measured by ``drift_ellipsoid``, and ``radius``, measured with it or chosen.

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

    def __init__(self, *, radius: Radius = "auto", quantile: Quantile = 0.05) -> None:
        super().__init__(radius=radius, quantile=quantile)
        self._models: Ellipsoid | None = None

    def equip(self, **artefacts: Any) -> None:
        """Take the covariance and the radius; raise ``ValueError`` for those that make no ellipsoid."""
        super().equip(**artefacts)
        self._models = Ellipsoid(np.asarray(artefacts["covariance"], dtype=np.float64), float(artefacts["radius"]))

    def measured(self, score: Score, retrains: Sequence[Score]) -> dict[str, Any]:
        """The covariance of the retrains, and the radius that holds their share where none is chosen."""
        assert isinstance(score, LinearScore), "this model cannot carry the promise"
        ellipsoid = drift_ellipsoid(score, *linear_parameters(retrains), 1.0 - self.quantile)
        radius = ellipsoid.radius if self.radius == "auto" else self.radius
        return {"covariance": ellipsoid.covariance, "radius": radius}

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
