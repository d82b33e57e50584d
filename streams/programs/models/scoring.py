"""Decision models: encoded rows in, the probability of the desired class out.

The score of a row does not depend, bit for bit, on the other rows of a batch: the engine cuts its journal into chunks
of any size. BLAS does not guarantee that (its sums change with the shape), so linear layers are added column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ....agents.candidates import LinearScore, Score
from ....agents.fitted_trees.boosting import gradient_boosting, histogram_boosting
from ....agents.fitted_trees.forests import Forest
from ....agents.scores import Scores
from ....agents.sigmoid import sigmoid as _sigmoid
from ....agents.trees import Splits, TreeSum
from .calibration import folded, sklearn_type

Floats = NDArray[np.float64]
Layer = tuple[Floats, Floats]
"""Weights (width, units) and bias (units,)."""


class DecisionModel(Protocol):
    """Scores applications and candidates."""

    def score(self, X: Floats) -> Floats:
        """The probability of the desired class, (n,), of encoded rows (n, D); row by row independent of the batch."""


class LogisticScore:
    """The score sigmoid(w x + b): a ``LinearScore``, for which generators have an exact solution."""

    def __init__(self, weights: Floats, bias: float) -> None:
        self.weights = weights
        self.bias = bias

    def __call__(self, X: Floats) -> Floats:
        """The probability of class 1, (n,)."""
        return _sigmoid(_affine(X, self.weights[:, np.newaxis], np.array([self.bias]))[:, 0])

    @staticmethod
    def together(scores: Sequence[LogisticScore]) -> Scores:
        """The scores of R models, (n, R), in one go."""
        weights, bias = (
            np.stack([score.weights for score in scores], axis=1),
            np.array([score.bias for score in scores]),
        )
        return lambda X: _sigmoid(_affine(X, weights, bias))


def score_of_options(score: Score) -> Score:
    """The scores of what people could become: what a model cannot score, NaN, is 0, so that nobody is sent there."""
    if isinstance(score, LinearScore):
        return score

    def options(X: Floats) -> Floats:
        scores = score(X)
        return np.where(np.isnan(scores), 0.0, scores)

    return options


def splits_of(model: DecisionModel, columns: int) -> Splits | None:
    """The splits of a model of trees over ``columns`` encoded columns; None where nobody knows any."""
    return model.splits(columns) if isinstance(model, Forest | TreeSum) else None


class LogisticLayer:
    """One layer of one unit, weights (columns, 1) and bias (1,); ``score`` gives the probability of class 1."""

    def __init__(self, weights: Floats, bias: Floats, columns: int) -> None:
        checked = _matrix(weights, (columns, 1))[:, 0]
        self.score = LogisticScore(np.ascontiguousarray(checked), _matrix(bias, (1,)).item())


class Perceptron:
    """Layers of units with a sigmoid after the last one, as those of a fitted binary ``MLPClassifier``.

    Parameters
    ----------
    layers
        The weights (width, units) and the bias (units,) of each; the first width is ``columns``, the last has one unit.
    activation
        What follows each layer but the last, by its name in ``ACTIVATIONS``.

    Raises
    ------
    ValueError
        For weights that are not finite or do not fit together, and an unknown activation.
    """

    def __init__(self, layers: Sequence[Layer], activation: str, columns: int) -> None:
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation {activation!r} is not supported (use one of {', '.join(ACTIVATIONS)})")
        self.activation = activation
        self.layers: list[Layer] = []
        width = columns
        for weights, bias in layers:
            self.layers.append((_matrix(weights, (width, len(bias))), _matrix(bias, (len(bias),))))
            width = len(bias)
        if not self.layers or width != 1:
            raise ValueError(f"the last layer has {width} units, not one")

    def score(self, X: Floats) -> Floats:
        """The probability of class 1, (n,)."""
        hidden = X
        for weights, bias in self.layers[:-1]:
            hidden = ACTIVATIONS[self.activation](_affine(hidden, weights, bias))
        return _sigmoid(_affine(hidden, *self.layers[-1])[:, 0])


def _logistic(estimator: Any, columns: int) -> LogisticLayer:
    """A fitted binary ``LogisticRegression``."""
    return LogisticLayer(estimator.coef_.T, estimator.intercept_, columns)


def _perceptron(estimator: Any, columns: int) -> Perceptron:
    """A fitted ``MLPClassifier``."""
    if estimator.out_activation_ != "logistic":
        raise ValueError(f"activation {estimator.activation!r} with {estimator.out_activation_!r} is not supported")
    layers = list(zip(estimator.coefs_, estimator.intercepts_, strict=True))
    return Perceptron(layers, estimator.activation, columns)


def _calibrated(estimator: Any, columns: int) -> DecisionModel:
    """A fitted ``CalibratedClassifierCV``."""
    model = folded(estimator, columns)
    return model if isinstance(model, TreeSum) else _logistic(model, columns)


def scorer(estimator: Any, columns: int) -> DecisionModel:
    """The decision model of a fitted scikit-learn classifier over ``columns`` encoded columns.

    Raises ValueError for a type that is not supported, classes other than 0 and 1, or weights that do not fit.
    """
    build = MODELS.get(sklearn_type(estimator))
    if build is None:
        supported = ", ".join(sorted(MODELS))
        raise ValueError(f"type {type_name(estimator)} is not supported (use one of {supported})")
    classes = getattr(estimator, "classes_", None)
    if classes is None or list(classes) != [0, 1]:
        raise ValueError(f"{type_name(estimator)} must be fitted on the classes 0 and 1, not {classes}")
    if estimator.n_features_in_ != columns:
        raise ValueError(f"{type_name(estimator)} takes {estimator.n_features_in_} columns, the spec has {columns}")
    return build(estimator, columns)


def type_name(value: object) -> str:
    """The full name of a value's type, as skops names it."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _affine(X: Floats, weights: Floats, bias: Floats) -> Floats:
    """X @ weights + bias, (n, units), added in the order of the columns."""
    total: Floats = np.zeros((len(X), len(bias)))
    for column, weight in enumerate(weights):
        total += X[:, column, None] * weight
    total += bias
    return total


def _matrix(values: Any, shape: tuple[int, ...]) -> Floats:
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"weights of shape {array.shape} are not finite numbers of shape {shape}")
    return array


def _relu(z: Floats) -> Floats:
    return np.maximum(z, 0.0)


def _identity(z: Floats) -> Floats:
    return z


ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "identity": _identity,
    "logistic": _sigmoid,
    "relu": _relu,
    "tanh": np.tanh,
}

MODELS: dict[str, Callable[[Any, int], DecisionModel]] = {
    "CalibratedClassifierCV": _calibrated,
    "ExtraTreesClassifier": Forest,
    "GradientBoostingClassifier": gradient_boosting,
    "HistGradientBoostingClassifier": histogram_boosting,
    "LogisticRegression": _logistic,
    "MLPClassifier": _perceptron,
    "RandomForestClassifier": Forest,
}
"""How the estimators of scikit-learn are scored, by the names of their types."""
