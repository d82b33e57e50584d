"""The label prior: how probable the desired label is after a change, by models of the training labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..trees import TreeSum, check_trees
from .components.bags import FEWEST_BAGS, OF_BAGS, Bags
from .components.coverage import LabelCoverage, first_of_runs
from .components.ensemble import Ensemble
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
    them have one, and where labels are rare the log odds are drawn towards those of the person before
    (``LabelCoverage``).

    Parameters
    ----------
    ensemble
        The models.
    coverage
        How far labels speak for people; None where everybody has a label, or anybody may have one.
    unseen
        The standard deviation of what no column holds, in log odds; None where nobody knows it, as in older bundles.

    References
    ----------
    Breiman, L. (1996). Bagging Predictors. Machine Learning.
    Platt, J. (1999). Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers.
    """

    name: ClassVar[str] = "label_prior"

    def __init__(self, ensemble: Ensemble, coverage: LabelCoverage | None = None, unseen: float | None = None) -> None:
        self._ensemble, self._coverage, self._unseen = ensemble, coverage, unseen
        self._is_flat = not (ensemble.weights.any() or ensemble.trees.value.any())

    @property
    def knows_deviation(self) -> bool:
        """Whether it knows its bags, which bundles of older versions do not, and says something."""
        return self._unseen is not None and self._ensemble.bags is not None and not self._is_flat

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
        total, unchanged = both[: len(after)], both[len(after) :]
        total[rare] = self._coverage.shrunk(total[rare], unchanged[np.cumsum(first) - 1], share[rare])
        return total

    def of_labelled(self, X: Array) -> Array:
        """The log odds (n,) of people with a label who are like encoded rows (n, D)."""
        return self._ensemble.log_odds(X)

    def deviation(self, after: Array, before: Array) -> Array | None:
        r"""How far off the log odds may be, (P,), of people ``before`` (P, D) who become ``after`` (P, D).

        The variance is that of the sample, by the delete-d jackknife from the B bags, each without d of the n rows,
        and that of what no column holds. The first is itself known from few bags, as the variance of a t distribution
        with B - 1 degrees of freedom says:

        $$\mathrm{var} = \frac{B - 1}{B - 3}\, \frac{n - d}{d}\, \mathrm{var}_b\, L_b(x') + \tau^2$$

        None where the prior is flat, or of a bundle of an older version.

        References
        ----------
        Shao, J. and Wu, C. (1989). A general theory for jackknife variance estimation. Annals of Statistics.
        """
        total = self._ensemble.by_bag(after) if self.knows_deviation else None
        if total is None or self._unseen is None:
            return None
        if self._coverage is not None:
            unchanged, share = self._ensemble.by_bag(before), self._coverage.share(after)
            assert unchanged is not None, "bags of one are those of all"
            total = self._coverage.shrunk(total, unchanged, share)
        bags = len(total)
        of_sample = (bags - 1) / (bags - 3) * OF_BAGS * total.var(axis=0, ddof=1)
        return np.asarray(np.sqrt(of_sample + self._unseen**2))

    @classmethod
    def fit(cls, X: Array, labels: Labels, seed: int, unlabelled: Array | None = None) -> Self | None:
        """The prior of training rows, and of those without a label (m, D); None where a label has fewer than two."""
        # Workers restore priors, and need no scikit-learn for them.
        from .components.bagged_fit import fit_ensemble
        from .components.labelled_share import fit_labelled_share
        from .components.unseen import unseen_deviation

        share = None if unlabelled is None else fit_labelled_share(X, unlabelled, seed)
        ensemble = fit_ensemble(X, labels, seed, None if share is None else share.weights)
        if ensemble is None:
            return None
        coverage = None if share is None else share.coverage
        return cls(ensemble, coverage, unseen_deviation(ensemble, X, seed, coverage))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The models as plain arrays, from which ``restore`` makes the same ones."""
        trees, group, weights, forest_weight, bags = self._ensemble
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
            **_of_bags(bags, self._unseen),
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
        bags = _bags_of(arrays, len(roots), columns)
        ensemble = Ensemble(check_trees(trees, columns), group, weights, float(arrays["forest_weight"]), bags)
        return cls(ensemble, _coverage_of(arrays, columns), _unseen_of(arrays))


def _coverage_of(arrays: Mapping[str, NDArray[Any]], columns: int) -> LabelCoverage | None:
    """The coverage of some arrays over so many columns, None without one; raise ``ValueError`` where it is none."""
    given = {name: array for name in LabelCoverage._fields if (array := arrays.get(f"labelled_{name}")) is not None}
    if not given:
        return None
    shapes = {"weights": (columns,), "base": (), "rate": ()}
    if {name: array.shape for name, array in given.items()} != shapes or not all(
        array.dtype == np.float64 and np.isfinite(array).all() for array in given.values()
    ):
        raise ValueError(f"what says who gets a label is no regression over {columns} columns")
    if not 0.0 < (rate := float(given["rate"])) <= 1.0:
        raise ValueError(f"the share of rows with a label is {rate}, not above 0 and at most 1")
    return LabelCoverage(given["weights"], float(given["base"]), rate)


def _of_bags(bags: Bags | None, unseen: float | None) -> dict[str, NDArray[Any]]:
    """The arrays that tell how far the log odds may be off; none where nobody knows it."""
    if bags is None or unseen is None:
        return {}
    of_bags = {"bag": bags.tree.astype(np.int64), "bag_weights": bags.weights, "bag_base": bags.base}
    return {**of_bags, "unseen": np.asarray(unseen, dtype=np.float64)}


def _bags_of(arrays: Mapping[str, NDArray[Any]], trees: int, columns: int) -> Bags | None:
    """The bags of so many trees over some columns, None without any; raise ``ValueError`` where they are none."""
    if "bag" not in arrays:
        return None
    bag, weights, base = (arrays.get(name, np.zeros(0)) for name in ("bag", "bag_weights", "bag_base"))
    number = len(base) if base.ndim == 1 else 0
    if bag.shape != (trees,) or bag.dtype != np.int64 or not 0 <= bag.min() <= bag.max() < number:
        raise ValueError(f"its {trees} trees are not those of its bags")
    if number < FEWEST_BAGS or weights.shape != (number, columns) or not (_are_finite(weights) and _are_finite(base)):
        raise ValueError(f"its {number} bags are not each of {columns} finite weights")
    return Bags(bag.astype(np.intp), weights, base)


def _unseen_of(arrays: Mapping[str, NDArray[Any]]) -> float | None:
    """The deviation of what no column holds, None without bags; raise ``ValueError`` where it is none."""
    if "bag" not in arrays:
        return None
    unseen = arrays.get("unseen", np.zeros(0))
    if unseen.shape != () or not _are_finite(unseen) or unseen < 0.0:
        raise ValueError("what no column holds has no standard deviation")
    return float(unseen)


def _are_finite(array: NDArray[Any]) -> bool:
    return array.dtype == np.float64 and bool(np.isfinite(array).all())
