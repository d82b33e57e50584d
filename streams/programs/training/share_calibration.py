"""The share and bound of options that so many certifying retrains accept: fitted to trials on rows kept aside."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray
from scipy.special import stdtrit
from sklearn.linear_model import LogisticRegression

from ....agents.sigmoid import logit, sigmoid
from ..bundle.manifest import IMPLIED, PromiseCalibration
from ..bundle.measured import EqualMargin
from .equal_margin import equal_margin
from .kept_aside import RepeatedTraining, SplitTrial, cuts, halvings, trials

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
"""The share of options whose bound holds."""
LEAST_SHARE = 1e-6
"""Shares nearer to 0 or 1 count as this near."""
FEWEST_GROUPS = 2
"""Of fewer nobody can say how far apart they are."""
DIGITS = 4


class ShareMeasurement(NamedTuple):
    """The calibration of a promise, unset where too few people have options, and a plain margin that is as valid.

    The margin is None where none is as valid.
    """

    calibration: PromiseCalibration | UnsetType
    equal_margin: EqualMargin | None


def measure_share(
    training: RepeatedTraining,
    dates: Floats | None,
    random: np.random.RandomState,
    tell: Callable[[str], None] = lambda _: None,
) -> ShareMeasurement:
    """Measure what the verdict of a program's retrains is worth under models of rows that are kept aside.

    ``dates`` (n,) are those of the table's rows: later rows are kept aside then, else random halves. ``tell`` is given
    a line of text after each split. Raises ``ValueError`` where the rows are too few, or too few have one of the
    labels.
    """
    labels = training.table.labels
    splits = list(halvings(labels, random) if dates is None else cuts(dates, labels, random))
    results: list[SplitTrial | None] = []
    for number, trial in enumerate(trials(training, splits, random), 1):
        tell(f"measured the promise on rows kept aside: {number} of {len(splits)} splits")
        results.append(trial)
    together = 2 if dates is None else 1
    groups = [[trial for trial in results[at : at + together] if trial] for at in range(0, len(results), together)]
    groups = [group for group in groups if group]
    if len(groups) < FEWEST_GROUPS:
        return ShareMeasurement(UNSET, None)
    terms, certifying = training.codec.spec.promise, training.retrains // 2
    shares, bounds = (tuple(portions.round(DIGITS).tolist()) for portions in stated(groups, certifying))
    asked = sum(trial.models for group in groups for trial in group)
    calibration = PromiseCalibration(
        "other" if dates is None else "later",
        asked,
        terms.quantile,
        terms.margin,
        shares,
        bounds,
        UNSET if terms.kind == IMPLIED else terms.kind,
        terms.parameters,
    )
    return ShareMeasurement(calibration, equal_margin([trial for group in groups for trial in group]))


class Stated(NamedTuple):
    """The share and the bound, (T + 1,), of an option that 0, 1, ..., T certifying retrains accept."""

    shares: Floats
    bounds: Floats


def stated(groups: Sequence[Sequence[SplitTrial]], certifying: int) -> Stated:
    """The shares and bounds by trials of programs with so many ``certifying`` retrains; each trial counts the same.

    The trials of one group err in opposite directions, as those of the two halves of the rows do: what one half has too
    much, the other has too little. So each group counts once in the standard error.

    The share is a sigmoid of the retrains' log odds (Platt), less the standard error of the trials' mean. The bound is
    below it by the log odds that 19 of 20 options of a further trial miss it by at most: a prediction limit from those
    of the trials, whose accident all options of a trial share.
    """
    trials = [trial for group in groups for trial in group]
    weight = np.concatenate([np.full(len(trial.accepted), 1.0 / len(trial.accepted)) for trial in trials])
    certified = np.concatenate([trial.certified for trial in trials])
    accepted = np.concatenate([trial.accepted for trial in trials])
    shares = _fitted(certified, accepted, trials[0].models * weight, certifying)
    gaps = [np.mean([(trial.accepted - shares[trial.certified]).mean() for trial in group]) for group in groups]
    error = float(np.std(gaps, ddof=1)) / math.sqrt(len(gaps))
    mean = float(np.average(accepted, weights=weight))
    shares *= max(0.0, 1.0 - error / mean) if mean else 0.0
    # Models that all accept show no share of 1.
    asked = sum(trial.models for trial in trials)
    shares = np.minimum(shares, (asked + 0.5) / (asked + 1.0))
    missed = [_missed(trial, shares) for trial in trials]
    bounds = sigmoid(logit(shares, LEAST_SHARE) - max(0.0, _prediction_limit(np.array(missed))))
    return Stated(shares, np.minimum(shares, bounds))


def _missed(trial: SplitTrial, shares: Floats) -> float:
    """The log odds by which 19 of 20 options of a trial miss their shares at most."""
    # By the rule of succession models that all reject are not beyond all odds.
    accepted = (trial.models * trial.accepted + 0.5) / (trial.models + 1.0)
    return float(np.quantile(logit(shares[trial.certified], LEAST_SHARE) - logit(accepted, LEAST_SHARE), CONFIDENCE))


def _prediction_limit(values: Floats) -> float:
    """The upper limit of a further value of a normal distribution, by the values so far (n,), n from 2 on."""
    spread = float(np.std(values, ddof=1)) * math.sqrt(1.0 + 1.0 / len(values))
    return float(values.mean() + stdtrit(len(values) - 1, CONFIDENCE) * spread)


def _fitted(certified: NDArray[np.intp], accepted: Floats, weight: Floats, certifying: int) -> Floats:
    """The probability of acceptance by the number of accepting retrains, (T + 1,); it never falls."""
    odds = logit((np.arange(certifying + 1) + 0.5) / (certifying + 1.0), LEAST_SHARE)[:, np.newaxis]
    # Each option was accepted by a part of the models, and rejected by the others.
    weights = np.concatenate([weight * accepted, weight * (1.0 - accepted)])
    labels = np.repeat([1, 0], len(accepted))
    rows = np.concatenate([odds[certified], odds[certified]])
    counted = weights > 0.0
    if len(np.unique(labels[counted])) < 2:
        return np.full(certifying + 1, accepted[0])
    fitted = LogisticRegression().fit(rows[counted], labels[counted], sample_weight=weights[counted])
    if fitted.coef_[0, 0] < 0.0:
        return np.full(certifying + 1, np.average(accepted, weights=weight))
    return np.asarray(fitted.predict_proba(odds)[:, 1])
