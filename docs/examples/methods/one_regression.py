"""Whether a change helps, by one logistic regression of the training labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from onward.agents.improvement import TrainedImprovement, registry

Array = NDArray[np.float64]


@registry.add
class OneRegression(TrainedImprovement):
    """The log odds of a logistic regression, with ``weights`` (D,)."""

    name: ClassVar[str] = "one_regression"

    def __init__(self, weights: Array, intercept: float) -> None:
        self._weights, self._intercept = weights, intercept

    @classmethod
    def fit(cls, X: Array, labels: NDArray[np.int64], seed: int, unlabelled: Array | None = None) -> Self | None:
        """The regression of training rows, whoever else has no label; None where all have one label."""
        if len(np.unique(labels)) < 2:
            return None
        model = LogisticRegression(max_iter=1000, random_state=seed).fit(X, labels)
        return cls(model.coef_[0], float(model.intercept_[0]))

    def log_odds(self, after: Array, before: Array) -> Array:
        """The log odds of the desired label of ``after`` (P, D), (P,)."""
        total = np.full(len(after), self._intercept)
        # Column by column, so that a row's sum does not depend on how many rows there are.
        for column, weight in enumerate(self._weights):
            total += weight * after[:, column]
        return total

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The weights and the intercept."""
        return {"weights": self._weights, "intercept": np.asarray(self._intercept)}

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], columns: int) -> Self:
        """The regression of the arrays; ValueError where they are none over so many columns."""
        weights, intercept = arrays.get("weights"), arrays.get("intercept")
        if weights is None or intercept is None or weights.shape != (columns,) or intercept.shape != ():
            raise ValueError(f"it is no regression over {columns} columns")
        return cls(weights, float(intercept))
