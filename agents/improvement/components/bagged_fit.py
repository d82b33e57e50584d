"""Fits the models of the label prior: bags of the training labels, each family calibrated on the rows left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from ...arrays import Array, Indices, Mask
from ...fitted_trees.boosting import gradient_boosting
from ...fitted_trees.forests import Forest
from ...sigmoid import logit
from ...trees import joined
from ..contract import Labels
from .bags import SHARE, Bags
from .ensemble import SMALLEST_SHARE, Ensemble

Build = Callable[[np.random.RandomState, int], Any]

BAGS = 6
BEYOND_CHANCE = 2.0
"""A family counts where its area under the curve, out of bag, is this many standard deviations above that of chance."""
SEED = 26
"""Beside that of training, so that a model is the same with and without a prior."""

FAMILIES: Sequence[Build] = (
    lambda random, rows: GradientBoostingClassifier(
        n_estimators=60, max_depth=3, subsample=0.5, min_samples_leaf=max(1, min(20, rows // 40)), random_state=random
    ),
    lambda random, _: RandomForestClassifier(30, min_samples_leaf=10, random_state=random),
    lambda random, _: LogisticRegression(max_iter=1000, random_state=random),
)
BOOSTER, FOREST, REGRESSION = range(3)


def fit_ensemble(X: Array, labels: Labels, seed: int, weights: Array | None = None) -> Ensemble | None:
    """The models of training rows (n, D) with labels (n,); None where a label has fewer than two rows.

    ``weights`` (n,) are how much each row counts, by default all alike.
    """
    if np.bincount(labels, minlength=2).min() < 2:
        return None
    return _ensemble(*fit_families(X, labels, seed, weights), X.shape[1])


def fit_families(
    X: Array, labels: Labels, seed: int, weights: Array | None = None
) -> tuple[list[list[Any]], Array, float]:
    """The models of each family, as scikit-learn fits them; the slope of one model of each (3,); and the intercept."""
    random = np.random.RandomState([seed, SEED])
    bags = list(_bags(labels, random))
    fitted = [
        [build(random, len(labels)).fit(X[bag], labels[bag], _weights_of(weights, bag)) for bag in bags]
        for build in FAMILIES
    ]
    slopes, intercept = np.zeros(len(FAMILIES)), 0.0
    for family, models in enumerate(fitted):
        slope, calibrated = _calibrated(*_out_of_bag(models, bags, X, labels, weights))
        slopes[family], intercept = slope / len(FAMILIES), intercept + calibrated / len(FAMILIES)
    return fitted, slopes / len(bags), intercept


def _bags(labels: Labels, random: np.random.RandomState) -> Iterator[Indices]:
    """The rows of each bag: of each label some, and some of each are left out."""
    for _ in range(BAGS):
        rows = [random.permutation(np.flatnonzero(labels == label)) for label in (0, 1)]
        yield np.concatenate([drawn[: min(max(1, round(SHARE * len(drawn))), len(drawn) - 1)] for drawn in rows])


def _weights_of(weights: Array | None, rows: Indices | Mask) -> Array | None:
    return None if weights is None else weights[rows]


def _out_of_bag(
    models: Sequence[Any], bags: Sequence[Indices], X: Array, labels: Labels, weights: Array | None
) -> tuple[Array, Labels, Array | None]:
    """The mean log odds of every row by the models that did not see it, its label and its weight."""
    total, count = np.zeros(len(X)), np.zeros(len(X))
    for model, bag in zip(models, bags, strict=True):
        out = np.setdiff1d(np.arange(len(X)), bag)
        total[out] += logit(model.predict_proba(X[out])[:, 1], SMALLEST_SHARE)
        count[out] += 1
    seen = count > 0
    return total[seen] / count[seen], labels[seen], _weights_of(weights, seen)


def _calibrated(log_odds: Array, labels: Labels, weights: Array | None) -> tuple[float, float]:
    """Platt's slope and intercept; a slope of 0 where the log odds do not tell the labels apart."""
    desired, rows = int(labels.sum()), len(labels)
    others = rows - desired
    deviation = np.sqrt((rows + 1) / (12 * desired * others))
    if roc_auc_score(labels, log_odds) < 0.5 + BEYOND_CHANCE * deviation:
        return 0.0, float(np.log(desired) - np.log(others))
    curve = LogisticRegression(C=1e6).fit(log_odds[:, np.newaxis], labels, weights)
    return max(0.0, float(curve.coef_[0, 0])), float(curve.intercept_[0])


def _ensemble(fitted: Sequence[Sequence[Any]], weights: Array, intercept: float, columns: int) -> Ensemble:
    """The models on the scale of the log odds; ``weights`` (3,) are those of one model of each family."""
    boosters = [
        gradient_boosting(model, columns).mapped(weights[BOOSTER], 0.0, logistic=True) for model in fitted[BOOSTER]
    ]
    forests = [Forest(model, columns).as_sum() for model in fitted[FOREST]]
    # Forests that say nothing are left out, as are leaves of boosters that would add nothing: a flat prior is small.
    kept = [*boosters, *forests] if weights[FOREST] else boosters
    group = np.concatenate([np.full(len(trees.roots), max(0, n - len(boosters) + 1)) for n, trees in enumerate(kept)])
    linear = sum(model.coef_[0] for model in fitted[REGRESSION]) * weights[REGRESSION]
    base = intercept + sum(trees.base for trees in boosters)
    base += sum(float(model.intercept_[0]) for model in fitted[REGRESSION]) * weights[REGRESSION]
    intercepts = [float(model.intercept_[0]) * weights[REGRESSION] for model in fitted[REGRESSION]]
    bags = Bags(
        np.concatenate([np.full(len(trees.roots), n % len(boosters)) for n, trees in enumerate(kept)]),
        np.stack([model.coef_[0] * weights[REGRESSION] for model in fitted[REGRESSION]]),
        np.array(
            [
                trees.base + of_bag + intercept / len(intercepts)
                for trees, of_bag in zip(boosters, intercepts, strict=True)
            ]
        ),
    )
    return Ensemble(joined(kept, base), group, linear, float(weights[FOREST]), bags)
