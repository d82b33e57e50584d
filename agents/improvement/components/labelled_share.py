"""Who gets a label: how probably a person of the data has one, and how far labels speak for people like them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from ...arrays import Array, Mask
from ...sigmoid import sigmoid
from .coverage import MOST_WEIGHT, LabelCoverage

FOLDS = 5
FEWEST = 30
"""Rows of each kind, with a label and without, from which the model is fitted."""
BEYOND_CHANCE = 2.0
"""The area under the curve, out of fold, is to be so many standard deviations above that of chance."""
SEED = 44
"""Beside that of training."""


class LabelledShare(NamedTuple):
    """What says how far labels speak for a row, and the ``weights`` (n,) of the rows with a label, of mean 1."""

    coverage: LabelCoverage
    weights: Array


def fit_labelled_share(X: Array, unlabelled: Array, seed: int) -> LabelledShare | None:
    r"""The model of who gets a label, from encoded rows with one (n, D) and without one (m, D).

    A logistic regression $\pi(x)$ of all rows, calibrated by Platt's sigmoid on predictions of rows that were in no
    fold it was fitted on. The weights of labelled rows are the stabilised inverse probabilities, out of fold, clipped:
    $\min(\bar\pi / \pi(x), W)$, divided by their mean. None where there are too few rows, or where the columns do not
    tell who gets a label, which says that labels are missing of people like all others.

    References
    ----------
    Hernan, M. and Robins, J. (2020). Causal Inference: What If. Section 12.3: stabilised inverse probability weights.
    Cole, S. and Hernan, M. (2008). Constructing inverse probability weights for marginal structural models. American
    Journal of Epidemiology. Truncation of weights.
    """
    if min(len(X), len(unlabelled)) < FEWEST:
        return None
    rows = np.concatenate([X, unlabelled])
    has_label = np.arange(len(rows)) < len(X)
    log_odds = _out_of_fold(rows, has_label, seed)
    deviation = np.sqrt((len(rows) + 1) / (12 * len(X) * len(unlabelled)))
    if roc_auc_score(has_label, log_odds) < 0.5 + BEYOND_CHANCE * deviation:
        return None
    curve = LogisticRegression(C=1e6).fit(log_odds[:, np.newaxis], has_label)
    slope, intercept = float(curve.coef_[0, 0]), float(curve.intercept_[0])
    whole = _fitted(rows, has_label)
    base = slope * float(whole.intercept_[0]) + intercept
    rate = len(X) / len(rows)
    weights = np.minimum(rate / sigmoid(slope * log_odds[has_label] + intercept), MOST_WEIGHT)
    return LabelledShare(LabelCoverage(slope * whole.coef_[0], base, rate), weights / weights.mean())


def _out_of_fold(rows: Array, has_label: Mask, seed: int) -> Array:
    """The log odds, (N,), of having a label, each by a model that has not seen the row."""
    random = np.random.RandomState([seed, SEED])
    log_odds = np.zeros(len(rows))
    for seen, unseen in StratifiedKFold(FOLDS, shuffle=True, random_state=random).split(rows, has_label):
        log_odds[unseen] = _fitted(rows[seen], has_label[seen]).decision_function(rows[unseen])
    return log_odds


def _fitted(rows: Array, has_label: Mask) -> LogisticRegression:
    return LogisticRegression(max_iter=1000).fit(rows, has_label)
