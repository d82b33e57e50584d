"""The base of promises for linear models: a radius around the current model, and the worst case in it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Protocol

import numpy as np

from ..parameters import Interval
from ..sigmoid import LARGEST_ODDS, bounded_sigmoid, scalar_logit
from .ball import Array, log_odds
from .contract import LinearScore, Promise, Score
from .share_calibration import whole_percent

NOT_LINEAR = "its score is not linear, so no radius of its parameters bounds what retraining does: use `retrains`"

Radius = Annotated[float | Literal["auto"], Interval(at_least=0)]
Quantile = Annotated[float, Interval(above=0, below=1)]


class LinearModels(Protocol):
    """A set of linear models around one."""

    @property
    def radius(self) -> float:
        """The largest distance from the centre."""

    def norms(self, points: Array) -> Array:
        """By how much the log odds of points (n, D) change at most, (n,), for a radius of 1."""

    def slopes(self, points: Array) -> Array:
        """The slopes of these norms, one for each column, (n, D)."""

    def worst_case(self, points: Array, weights: Array, bias: float) -> Array:
        """The least log odds, (n,), of points (n, D) under the models around ``weights`` (D,)."""


class WorstCaseScore:
    """The score of a linear model under the worst of the models near it.

    Examples
    --------
    >>> from onward.agents.promises import LpBall
    >>> class Line:
    ...     weights, bias = np.array([2.0]), 0.0
    ...     def __call__(self, X):
    ...         return 1 / (1 + np.exp(-(X @ self.weights + self.bias)))
    >>> WorstCaseScore(Line(), LpBall(0.5, 1))(np.array([[0.0], [1.0]])).round(3)
    array([0.378, 0.818])
    """

    models_in_words = "under all models that are near this one"

    def __init__(self, score: LinearScore, models: LinearModels) -> None:
        self.linear, self._models = score, models

    def slack(self, X: Array) -> Array:
        """By how much the worst model's log odds of encoded rows (n, D) are below the score's own, (n,)."""
        return self._models.radius * self._models.norms(X)

    def slopes(self, X: Array) -> Array:
        """The slopes of the slack at encoded rows (n, D), one for each column, (n, D)."""
        return self._models.radius * self._models.slopes(X)

    def __call__(self, X: Array) -> Array:
        """The scores, (n,), of encoded rows (n, D)."""
        odds = self._models.worst_case(X, self.linear.weights, self.linear.bias)
        return np.asarray(bounded_sigmoid(odds, LARGEST_ODDS))


class RadiusPromise(Promise):
    """A promise for the linear models within a radius of the current one.

    Parameters
    ----------
    radius
        How far their parameters may be; ``auto`` measures it on the model's retrains.
    quantile
        The share of the retrains that may be farther than the measured radius.
    """

    def __init__(self, *, radius: Radius = "auto", quantile: Quantile = 0.05, **parameters: Any) -> None:
        super().__init__(radius=radius, quantile=quantile, **parameters)
        self.radius, self.quantile = radius, quantile

    @classmethod
    def faults(cls, given: Mapping[str, Any], threshold: float) -> Iterator[tuple[str | None, str]]:
        """A quantile beside a radius."""
        if given.keys() >= {"radius", "quantile"}:
            yield "quantile", "a radius is given, so none is measured: take `quantile` or `radius` out"

    @property
    @abstractmethod
    def models(self) -> LinearModels:
        """The models under which the promise holds."""

    def misfit(self, score: Score) -> str | None:
        """Only a linear score can carry it."""
        return None if isinstance(score, LinearScore) else NOT_LINEAR

    def robust(self, score: Score) -> Score:
        """The worst-case score; the model's own where it is not linear."""
        return WorstCaseScore(score, self.models) if isinstance(score, LinearScore) else score

    def guarantee(self, target: Array, score: Score, required: float = 0.5) -> dict[str, float] | None:
        """The radius, the worst-case margin in log odds, and alpha_max, None where the norm is 0."""
        if not isinstance(score, LinearScore) or self.misfit(score) is not None or not 0.0 < required < 1.0:
            return None
        row, models = target[np.newaxis], self.models
        odds, norm = log_odds(row, score.weights, score.bias).item() - scalar_logit(required), models.norms(row).item()
        numbers = {"radius": models.radius, "margin": odds - models.radius * norm}
        return numbers | {"alpha_max": odds / norm} if norm > 0.0 else numbers

    def constants(self) -> dict[str, float]:
        """The radius."""
        return {"radius": self.models.radius}

    @classmethod
    def in_words(cls, guarantee: Mapping[str, float]) -> str | None:
        """How much change of the model the option survives."""
        if "alpha_max" not in guarantee:
            return None
        return f"holds while the model changes by less than {guarantee['alpha_max']:.3g}"

    def measured_in_words(self, means: Mapping[str, float]) -> Iterator[str]:
        """The radius, where it comes from, and that one of 0 is worth nothing."""
        if "radius" not in means:
            return
        within = f", which {whole_percent(1 - self.quantile)} of models of resamples of the data stay within"
        yield f"{self.name} with the radius {means['radius']:.4g}{within if self.radius == 'auto' else ''}"
        if not means["radius"]:
            yield "a radius of 0 promises nothing under another model: take `radius` out, and it is measured"

    def relaxations(self) -> Iterator[str]:
        """A smaller radius, or another quantile where it is measured."""
        if self.radius == "auto":
            yield f"a larger `promise.quantile` than {self.quantile:g}"
        else:
            yield f"a smaller `promise.radius` than {self.radius:g}"
