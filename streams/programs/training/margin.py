"""The margin of a model: how far above the threshold an option must score, so that retrained models accept it too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from ....agents.candidates import CandidateGenerator
from ....agents.goals import Threshold, accepted
from ....agents.improvement import Improvement
from ....agents.objective import Objective
from ....schemas.encoding import FeatureCodec
from ...advice import ACCEPTED
from ..margin import uses_margin
from ..models.scoring import scorer
from ..objective import generator_of, nu_of, objective_of
from ..program import Features, cost_of
from .retrains import refitted
from .served import best_options

Floats = NDArray[np.float64]
Score = Callable[[Floats], Floats]

RETRAINED = 20
PEOPLE = 50
STEP = 0.05
"""Margins are multiples of it."""
LEAST_SERVED = 0.9
"""Of the people who have an option without a margin, the share that a margin must leave with one."""
MOST_CHANGES = 2.0
"""The most changes that the cheapest options may need on average, unless they need more without a margin."""


class MeasuredMargin(NamedTuple):
    """A margin, and the share of pairs of a cheapest option and a retrained model in which it accepts the option.

    The share is None where nobody has an option, even at the bare threshold.
    """

    margin: float
    accepted: float | None


def retrained(estimator: Any, X: Floats, labels: NDArray[np.int64], random: np.random.RandomState) -> list[Score]:
    """The scores of ``RETRAINED`` models: the estimator fitted again, each on a resample of the rows (n, D) and (n,).

    Give rows that the estimator was not fitted on: models of resamples of its own rows agree with it too much.
    """
    fits = islice(refitted(estimator, X, labels, len(X), random), RETRAINED)
    return [scorer(fitted, X.shape[1]).score for fitted in fits]


def wanted_margin(
    codec: FeatureCodec,
    score: Score,
    instances: Sequence[Features],
    reference: Sequence[Features],
    refit: Callable[[], Sequence[Score]],
    rejected: Floats,
    improvement: Improvement | None,
    on_margin: Callable[[], None],
) -> tuple[float | UnsetType, dict[str, float]]:
    """The margin that the spec leaves to training, and what was measured of it; unset and nothing where it leaves none.

    ``refit`` gives the models by which it is measured, which takes long: ``on_margin`` is called before.
    """
    if not uses_margin(codec.spec):
        return UNSET, {}
    on_margin()
    margin, share = measured_margin(codec, score, instances, reference, refit(), rejected, improvement)
    return margin, {} if share is None else {"retrained_accept": share}


def measured_margin(
    codec: FeatureCodec,
    score: Score,
    instances: Sequence[Features],
    reference: Sequence[Features],
    others: Sequence[Score],
    rejected: Floats,
    improvement: Improvement | None = None,
) -> MeasuredMargin:
    """The margin for the program of a codec's spec: of the options that its generator proposes to ``rejected`` (n, D).

    ``instances`` and ``reference`` are the raw rows of its bundle, and ``improvement`` is its own.
    """
    spec, cost = codec.spec, cost_of(codec, reference)
    objective = objective_of(spec, cost, nu_of(spec, codec.dimension), improvement, score)
    generator, threshold = generator_of(codec, codec.encode_many(instances), objective), spec.model.threshold
    return smallest_margin(generator, objective, score, threshold, others, rejected[:PEOPLE], codec.feature_of)


def smallest_margin(
    generator: CandidateGenerator,
    objective: Objective,
    score: Score,
    threshold: float,
    others: Sequence[Score],
    people: Floats,
    feature_of: NDArray[np.intp],
) -> MeasuredMargin:
    """The smallest margin at which ``others`` accept the cheapest options of rejected ``people`` (n, D).

    ``feature_of`` (D,) is the feature of each column.

    Where no margin is enough, it is the largest that still leaves nine of ten an option, of two changes on average.
    """
    margin, share, served = 0.0, None, 0
    for number in range(max(1, round((1.0 - threshold) / STEP))):
        proposals = generator.under(score, Threshold(threshold, number * STEP)).propose(people)
        whose, targets = best_options(proposals, objective, people, 1)
        served = served or len(targets)
        if not len(targets) or len(targets) < LEAST_SERVED * served:
            break
        if number and _changes(targets != people[whose], feature_of) > MOST_CHANGES:
            break
        margin = number * STEP
        share = float(np.mean([accepted(other(targets), threshold).mean() for other in others]))
        if share >= ACCEPTED:
            break
    return MeasuredMargin(round(margin, 9), share)


def _changes(changed: NDArray[np.bool_], feature_of: NDArray[np.intp]) -> float:
    """The mean number of features that change, from the columns that do (n, D)."""
    of_feature = np.eye(int(feature_of.max()) + 1, dtype=bool)[feature_of]
    return float((changed @ of_feature).sum(axis=1).mean())
