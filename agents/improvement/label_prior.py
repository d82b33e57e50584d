"""The label prior: how probable the desired label is after a change, by models of the training labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..trees import TreeSum, check_trees
from .components.ensemble import Ensemble, add_up
from .contract import Array, Labels, TrainedImprovement

ARRAYS: Mapping[str, tuple[int, str]] = {
    "roots": (1, "int64"),
    "nodes": (2, "int32"),
    "threshold": (1, "float32"),
    "value": (1, "float64"),
    "group": (1, "int64"),
    "weights": (1, "float64"),
    "base": (0, "float64"),
    "forest_weight": (0, "float64"),
}
"""The arrays of an ensemble: their dimensions and types."""


class LabelPrior(TrainedImprovement):
    r"""Boosters, forests and logistic regressions of subsamples of the training labels, calibrated and averaged.

    The log odds of a target $x'$ are the mean over the families $f$ and the bags $b$,

    $$L(x') = \frac13 \sum_f \frac1B \sum_b \left(\alpha_f \operatorname{logit} p_{fb}(x') + \beta_f\right)$$

    with $\alpha_f$ and $\beta_f$ of Platt's calibration of each family. What people were before does not count:
    relations in the data are taken to be causes.

    Parameters
    ----------
    ensemble
        The models.

    References
    ----------
    Breiman, L. (1996). Bagging Predictors. Machine Learning.
    Platt, J. (1999). Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers.
    """

    name: ClassVar[str] = "label_prior"

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble
        self._groups = max(1, int(ensemble.group.max()) + 1)
        self._is_flat = not (ensemble.weights.any() or ensemble.trees.value.any())

    @property
    def is_flat(self) -> bool:
        """Whether it says the same of everybody: the labels told nothing beyond chance."""
        return self._is_flat

    def log_odds(self, after: Array, before: Array) -> Array:  # what people were does not count
        """The log odds of the desired label of ``after`` (P, D), (P,)."""
        trees, group, weights, forest_weight = self._ensemble
        total, sums = np.full(len(after), trees.base), np.zeros((self._groups, len(after)))
        for column, weight in enumerate(weights):
            total += weight * after[:, column]
        trees.walk.add_leaves(after, group, sums)
        add_up(sums, forest_weight, total)
        return total

    @classmethod
    def fit(cls, X: Array, labels: Labels, seed: int) -> Self | None:
        """The prior of training rows; None where a label has fewer than two rows."""
        # Workers restore priors, and need no scikit-learn for them.
        from .components.bagged_fit import fit_ensemble

        ensemble = fit_ensemble(X, labels, seed)
        return None if ensemble is None else cls(ensemble)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The models as plain arrays, from which ``restore`` makes the same ones."""
        trees, group, weights, forest_weight = self._ensemble
        return {
            "roots": trees.roots.astype(np.int64),
            "nodes": trees.nodes,
            "threshold": trees.threshold.astype(np.float32),
            "value": trees.value,
            "group": group.astype(np.int64),
            "weights": weights,
            "base": np.asarray(trees.base, dtype=np.float64),
            "forest_weight": np.asarray(forest_weight, dtype=np.float64),
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], columns: int) -> Self:
        """The prior of some arrays.

        Raise ``ValueError`` when they are no models over so many columns.
        """
        for name, (dimensions, kind) in ARRAYS.items():
            array = arrays.get(name)
            if array is None or array.ndim != dimensions or array.dtype.name != kind:
                raise ValueError(f"array {name} is missing or not of {kind} with {dimensions} dimensions")
        roots, group, weights = arrays["roots"].astype(np.intp), arrays["group"].astype(np.intp), arrays["weights"]
        numbers = weights, arrays["forest_weight"]
        if weights.shape != (columns,) or not all(np.isfinite(array).all() for array in numbers):
            raise ValueError(f"its regression is not of {columns} finite weights")
        if group.shape != roots.shape or (np.diff(group, prepend=0) < 0).any() or np.diff(group, prepend=0).max() > 1:
            raise ValueError("the groups of its trees are not in ascending order")
        base = float(arrays["base"])
        trees = TreeSum(roots, arrays["nodes"], arrays["threshold"], arrays["value"], base, logistic=True)
        return cls(Ensemble(check_trees(trees, columns), group, weights, float(arrays["forest_weight"])))
