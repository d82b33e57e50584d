"""The promise of a ball: an option holds under every linear model whose parameters moved by less than a radius."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np

from ..parameters import Interval
from .ball import LpBall, log_odds, logit
from .contract import Array, LinearScore, Promise, Score

LARGEST = 700.0
"""Log odds beyond it have the score of 0 or 1."""
NOT_LINEAR = "its score is not linear, so no radius of its parameters bounds what retraining does: use `retrains`"


class LinearModels(Protocol):
    """A set of linear models around one."""

    @property
    def radius(self) -> float:
        """How far they may be."""

    def norms(self, points: Array) -> Array:
        """By how much the log odds of points (n, D) change at most, (n,), for a radius of 1."""

    def slopes(self, points: Array) -> Array:
        """How fast these norms grow with each column, (n, D)."""

    def worst_case(self, points: Array, weights: Array, bias: float) -> Array:
        """The least log odds, (n,), of points (n, D) under the models around ``weights`` (D,)."""


@dataclass(frozen=True)
class NormInterval(Interval):
    """The norms: 1, infinity and what lies between.

    Examples
    --------
    >>> 1.0 in NormInterval(), float("inf") in NormInterval(), 0.5 in NormInterval()
    (True, True, False)
    """

    def __contains__(self, value: float) -> bool:
        return value >= 1.0

    def __str__(self) -> str:
        return "from 1 to infinity"


class WorstCaseScore:
    """The score of a linear model under the worst of the models near it.

    Examples
    --------
    >>> class Line:
    ...     weights, bias = np.array([2.0]), 0.0
    ...     def __call__(self, X):
    ...         return 1 / (1 + np.exp(-(X @ self.weights + self.bias)))
    >>> WorstCaseScore(Line(), LpBall(0.5, 1))(np.array([[0.0], [1.0]])).round(3)
    array([0.378, 0.818])
    """

    models_in_words = "under all models that the promise is for"

    def __init__(self, score: LinearScore, models: LinearModels) -> None:
        self.linear, self._models = score, models

    def slack(self, X: Array) -> Array:
        """By how much the worst model's log odds of encoded rows (n, D) are below the score's own, (n,)."""
        return self._models.radius * self._models.norms(X)

    def slopes(self, X: Array) -> Array:
        """How fast the slack grows with each column, (n, D), at encoded rows (n, D)."""
        return self._models.radius * self._models.slopes(X)

    def __call__(self, X: Array) -> Array:
        """The scores, (n,), of encoded rows (n, D)."""
        odds = self._models.worst_case(X, self.linear.weights, self.linear.bias)
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -LARGEST, LARGEST))))


class LpPromise(Promise):
    r"""Guarantees an option while the parameters change by less than a radius in the norm $p$.

    The numbers of a guarantee are ``radius``, the one that is promised; ``margin``, the log odds above the required
    ones under the worst model within it; and ``alpha_max`` $= (w x + b - \ell) / \|(x, 1)\|_q$, the largest radius that
    the option survives. The promise holds while alpha_max is above the radius.

    It needs ``radius``: measured (``drift_radius``), or chosen.

    Parameters
    ----------
    norm
        $p$, the norm of the parameters, from 1 to infinity.

    Examples
    --------
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

    def __init__(self, *, norm: Annotated[float, NormInterval()] = 2.0) -> None:
        super().__init__(norm=norm)
        self._norm = norm
        self._ball: LpBall | None = None

    def equip(self, **artefacts: Any) -> None:
        """Take the radius; raise ``ValueError`` for one that is no finite number from 0 on."""
        super().equip(**artefacts)
        self._ball = LpBall(float(artefacts["radius"]), self._norm)

    @property
    def ball(self) -> LpBall:
        """The models under which the promise holds."""
        assert self._ball is not None, "call `equip` before anything is guaranteed"
        return self._ball

    def misfit(self, score: Score) -> str | None:
        """Only a linear score can carry it."""
        return None if isinstance(score, LinearScore) else NOT_LINEAR

    def robust(self, score: Score) -> Score:
        """The worst-case score; the model's own where it is not linear."""
        return WorstCaseScore(score, self.ball) if isinstance(score, LinearScore) else score

    def guarantee(self, target: Array, score: Score, required: float = 0.5) -> dict[str, float] | None:
        """The radius, the worst-case margin in log odds, and alpha_max."""
        if not isinstance(score, LinearScore) or not 0.0 < required < 1.0:
            return None
        row = target[np.newaxis]
        odds, norm = log_odds(row, score.weights, score.bias).item() - logit(required), self.ball.norms(row).item()
        return {"radius": self.ball.radius, "margin": odds - self.ball.radius * norm, "alpha_max": odds / norm}
