"""Sigmoid calibration (Platt), folded into the weights or trees of the model that it calibrates.

References
----------
Platt, J. (1999). Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ....agents.fitted_trees.boosting import gradient_boosting, histogram_boosting
from ....agents.fitted_trees.forests import Forest
from ....agents.trees import TreeSum

FORESTS = ("ExtraTreesClassifier", "RandomForestClassifier")
CALIBRATED = (*FORESTS, "GradientBoostingClassifier", "HistGradientBoostingClassifier", "LogisticRegression")
"""Estimators of scikit-learn whose calibration can be folded into the model."""


def sklearn_type(estimator: Any) -> str:
    """The name of an estimator's type if it is one of scikit-learn's, whose import takes seconds; else nothing."""
    kind = type(estimator)
    return kind.__name__ if kind.__module__.partition(".")[0] == "sklearn" else ""


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
    if sklearn_type(estimator) == "LogisticRegression":
        return _folded_logistic(estimator, slope, intercept)
    return _trees(estimator, columns).mapped(slope, intercept, logistic=True)


def _folded_logistic(estimator: Any, slope: float, intercept: float) -> Any:
    model = deepcopy(estimator)
    model.coef_ = slope * estimator.coef_
    model.intercept_ = slope * estimator.intercept_ + intercept
    return model


def _trees(estimator: Any, columns: int) -> TreeSum:
    """The trees whose sum is what scikit-learn calibrates."""
    kind = sklearn_type(estimator)
    if kind in FORESTS:
        return Forest(estimator, columns).as_sum()
    if kind == "HistGradientBoostingClassifier":
        return histogram_boosting(estimator, columns)
    if kind == "GradientBoostingClassifier":
        return gradient_boosting(estimator, columns)
    name, names = type(estimator).__name__, ", ".join(sorted(CALIBRATED))
    raise ValueError(f"CalibratedClassifierCV of {name} is not supported (use one of {names})")
