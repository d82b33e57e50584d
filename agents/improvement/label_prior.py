"""The label prior: how probable the desired label is after a change, by models of the training labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..trees import TreeSum, check_trees
from .components.coverage import Coverage, first_of_runs
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
    relations in the data are taken to be causes. Where not everybody has a label, rows count by how rarely people like
    them have one, and where labels are rare the log odds are drawn towards those of the person before (``Coverage``).

    Parameters
    ----------
    ensemble
        The models.
    coverage
        How far labels speak for people; None where everybody has a label, or anybody may have one.

    References
    ----------
    Breiman, L. (1996). Bagging Predictors. Machine Learning.
    Platt, J. (1999). Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers.
    """

    name: ClassVar[str] = "label_prior"

    def __init__(self, ensemble: Ensemble, coverage: Coverage | None = None) -> None:
        self._ensemble, self._coverage = ensemble, coverage
        self._groups = max(1, int(ensemble.group.max()) + 1)
        self._is_flat = not (ensemble.weights.any() or ensemble.trees.value.any())

    @property
    def is_flat(self) -> bool:
        """Whether it says the same of everybody: the labels told nothing beyond chance."""
        return self._is_flat

    def log_odds(self, after: Array, before: Array) -> Array:
        """The log odds of the desired label of people ``before`` (P, D) who become ``after`` (P, D), (P,).

        What people were counts only where labels do not speak for everybody.
        """
        if self._coverage is None or self._is_flat:
            return self.of_labelled(after)
        share = self._coverage.share(after)
        rare = share < 1.0
        were = before[rare]
        first = first_of_runs(were)
        # One walk: the targets of a person follow each other, so that few rows are added.
        both = self.of_labelled(np.concatenate([after, were[first]]))
        total, own = both[: len(after)], both[len(after) :]
        total[rare] = self._coverage.shrunk(total[rare], own[np.cumsum(first) - 1], share[rare])
        return total

    def of_labelled(self, X: Array) -> Array:
        """The log odds (n,) of people with a label who are like encoded rows (n, D)."""
        trees, group, weights, forest_weight = self._ensemble
        total, sums = np.full(len(X), trees.base), np.zeros((self._groups, len(X)))
        for column, weight in enumerate(weights):
            total += weight * X[:, column]
        trees.walk.add_leaves(X, group, sums)
        add_up(sums, forest_weight, total)
        return total

    @classmethod
    def fit(cls, X: Array, labels: Labels, seed: int, unlabelled: Array | None = None) -> Self | None:
        """The prior of training rows, and of those without a label (m, D); None where a label has fewer than two."""
        # Workers restore priors, and need no scikit-learn for them.
        from .components.bagged_fit import fit_ensemble
        from .components.labelled_share import fit_labelled_share

        share = None if unlabelled is None else fit_labelled_share(X, unlabelled, seed)
        ensemble = fit_ensemble(X, labels, seed, None if share is None else share.weights)
        return None if ensemble is None else cls(ensemble, None if share is None else share.coverage)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The models as plain arrays, from which ``restore`` makes the same ones."""
        trees, group, weights, forest_weight = self._ensemble
        of_coverage = {} if self._coverage is None else self._coverage._asdict()
        return {
            "roots": trees.roots.astype(np.int64),
            "nodes": trees.nodes,
            "threshold": trees.threshold.astype(np.float32),
            "value": trees.value,
            "group": group.astype(np.int64),
            "weights": weights,
            "base": np.asarray(trees.base, dtype=np.float64),
            "forest_weight": np.asarray(forest_weight, dtype=np.float64),
            **{f"labelled_{name}": np.asarray(value, dtype=np.float64) for name, value in of_coverage.items()},
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
        ensemble = Ensemble(check_trees(trees, columns), group, weights, float(arrays["forest_weight"]))
        return cls(ensemble, _coverage_of(arrays, columns))


def _coverage_of(arrays: Mapping[str, NDArray[Any]], columns: int) -> Coverage | None:
    """The coverage of some arrays over so many columns, None without one; raise ``ValueError`` where it is none."""
    given = {name: array for name in Coverage._fields if (array := arrays.get(f"labelled_{name}")) is not None}
    if not given:
        return None
    shapes = {"weights": (columns,), "base": (), "rate": ()}
    if {name: array.shape for name, array in given.items()} != shapes or not all(
        array.dtype == np.float64 and np.isfinite(array).all() for array in given.values()
    ):
        raise ValueError(f"what says who gets a label is no regression over {columns} columns")
    if not 0.0 < (rate := float(given["rate"])) <= 1.0:
        raise ValueError(f"the share of rows with a label is {rate}, not above 0 and at most 1")
    return Coverage(given["weights"], float(given["base"]), rate)
