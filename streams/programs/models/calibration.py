"""Sigmoid calibration (Platt), folded into the weights or trees of the model that it calibrates.

References
----------
Platt, J. (1999). Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression

from ....agents.fitted_trees.boosting import gradient_boosting, histogram_boosting
from ....agents.fitted_trees.forests import Forest
from ....agents.trees import TreeSum

CALIBRATED = (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    LogisticRegression,
    RandomForestClassifier,
)
"""Estimators whose calibration can be folded into the model."""


def folded(calibrated: Any, columns: int) -> Any:
    """The model of a fitted ``CalibratedClassifierCV``: a ``LogisticRegression``, or a ``TreeSum``.

    The probability is 1 / (1 + exp(a f + b)), where f is the decision function, or a forest's probability. Raises
    ValueError for another method than sigmoid, several models, or an estimator that is not in ``CALIBRATED``.
    """
    if calibrated.method != "sigmoid" or calibrated.ensemble is not False:
        raise ValueError("CalibratedClassifierCV is supported with method='sigmoid' and ensemble=False only")
    (fitted,) = calibrated.calibrated_classifiers_
    (curve,) = fitted.calibrators
    slope, intercept = -float(curve.a_), -float(curve.b_)
    estimator = fitted.estimator
    if type(estimator) is LogisticRegression:
        return _folded_logistic(estimator, slope, intercept)
    return _trees(estimator, columns).mapped(slope, intercept, logistic=True)


def _folded_logistic(estimator: LogisticRegression, slope: float, intercept: float) -> LogisticRegression:
    model = deepcopy(estimator)
    model.coef_ = slope * estimator.coef_
    model.intercept_ = slope * estimator.intercept_ + intercept
    return model


def _trees(estimator: Any, columns: int) -> TreeSum:
    """The trees whose sum is what scikit-learn calibrates."""
    kind = type(estimator)
    if kind in (RandomForestClassifier, ExtraTreesClassifier):
        return Forest(estimator, columns).as_sum()
    if kind is HistGradientBoostingClassifier:
        return histogram_boosting(estimator, columns)
    if kind is GradientBoostingClassifier:
        return gradient_boosting(estimator, columns)
    names = ", ".join(each.__name__ for each in CALIBRATED)
    raise ValueError(f"CalibratedClassifierCV of {kind.__name__} is not supported (use one of {names})")
