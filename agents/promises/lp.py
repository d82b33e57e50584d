"""The promise of a ball: an option holds under every linear model whose parameters moved by less than a radius."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

from ..parameters import Interval
from .ball import LpBall
from .calibration import drift_radius, linear_parameters
from .contract import LinearScore, Score
from .radius import Quantile, Radius, RadiusPromise


class LpPromise(RadiusPromise):
    r"""Guarantees an option while the parameters change by less than a radius in the norm $p$.

    The numbers of a guarantee are ``radius``, the one that is promised; ``margin``, the log odds above the required
    ones under the worst model within it; and ``alpha_max`` $= (w x + b - \ell) / \|(x, 1)\|_q$, the largest radius that
    the option survives. The promise holds while alpha_max is above the radius.

    It needs ``radius``: measured (``drift_radius``), or chosen.

    Parameters
    ----------
    norm
        The norm p of the parameters' changes, from 1 to infinity (``inf``).

    Examples
    --------
    >>> import numpy as np
    >>> class Line:
    ...     weights, bias = np.array([3.0, 4.0]), -4.0
    ...     def __call__(self, X):
    ...         return 1 / (1 + np.exp(-(X @ self.weights + self.bias)))
    >>> promise = LpPromise(norm=2)
    >>> promise.equip(radius=0.5)
    >>> {name: round(number, 3) for name, number in promise.guarantee(np.array([1.0, 1.0]), Line()).items()}
    {'radius': 0.5, 'margin': 2.134, 'alpha_max': 1.732}

    References
    ----------
    Kyaw, P., Kayastha, K. and Jabbari, S. (2025). Optimal Robust Recourse with L^p-Bounded Model Change.
    arXiv 2509.21293.
    """

    name: ClassVar[str] = "lp"
    needs: ClassVar[frozenset[str]] = frozenset({"radius"})

    def __init__(
        self,
        *,
        norm: Annotated[float | Literal["inf"], Interval(at_least=1)] = 2.0,
        radius: Radius = "auto",
        quantile: Quantile = 0.05,
    ) -> None:
        super().__init__(radius=radius, quantile=quantile, norm="inf" if norm == math.inf else norm)
        self._norm = float(norm)
        self._ball: LpBall | None = None

    def equip(self, **artefacts: Any) -> None:
        """Take the radius; raise ``ValueError`` for one that is no finite number from 0 on."""
        super().equip(**artefacts)
        self._ball = LpBall(float(artefacts["radius"]), self._norm)

    @property
    def models(self) -> LpBall:
        """The models under which the promise holds."""
        assert self._ball is not None, "call `equip` before anything is guaranteed"
        return self._ball

    @property
    def metric(self) -> LpBall:
        """The norm of the promise."""
        return LpBall(0.0, self._norm)

    @property
    def needs_retrains(self) -> bool:
        """Where no radius is given."""
        return self.radius == "auto"

    def measured(self, score: Score, retrains: Sequence[Score]) -> dict[str, Any]:
        """The radius."""
        if self.radius != "auto":
            return {"radius": self.radius}
        assert isinstance(score, LinearScore), "this model cannot carry the promise"
        return {"radius": drift_radius(score, *linear_parameters(retrains), self._norm, 1.0 - self.quantile)}

    def relaxations(self) -> Iterator[str]:
        """A smaller radius, or a promise that asks for less."""
        yield from super().relaxations()
        yield "`promise: {kind: ellipsoid}` or `{kind: retrains}`, which ask for less"
