"""How classifiers are fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.calibration import sklearn_type


def fit(estimator: Any, X: NDArray[np.float64], labels: NDArray[np.int64]) -> Any:
    """The estimator, fitted on rows (n, D) and labels (n,). It does not read a column that is 0 in every row.

    Trees never split on such a column, and a penalised weight stays 0. A network's weights of it stay as they were
    drawn, so they are set to 0.
    """
    fitted = estimator.fit(X, labels)
    if sklearn_type(fitted) == "MLPClassifier":
        fitted.coefs_[0][~X.any(axis=0)] = 0.0
    return fitted
