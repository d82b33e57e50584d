"""How many rejected people a new model leaves without an option, and how many features the options change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import UnsetType
from numpy.typing import NDArray

from ....agents.candidates import Proposals
from ....agents.goals import Threshold
from ....agents.improvement import Improvement
from ....agents.objective import Objective
from ....agents.promises import NoPromise, Promise
from ....schemas.encoding import FeatureCodec
from ...advice import MANY_CHANGES
from ..margin import goal_of, margin_of
from ..models.scoring import score_of_options
from ..objective import generator_of, nu_of, objective_of
from ..program import Features, cost_of

Floats = NDArray[np.float64]

PEOPLE = 50
"""Rejected people who are looked at."""
PROMISED = "promise_"
"""Begins the names of metrics that are means of what a promise guarantees."""


def measure_served(
    codec: FeatureCodec,
    score: Callable[[Floats], Floats],
    instances: Sequence[Features],
    reference: Sequence[Features],
    measured: float | UnsetType,
    rejected: Floats,
    promise: Promise | None = None,
    improvement: Improvement | None = None,
    asked: float | None = None,
) -> Mapping[str, float]:
    """What the program of a codec's spec can propose to the first of some ``rejected`` people (n, D).

    ``rejected_sampled`` is their number, ``without_option`` the share without an option, and
    ``without_option_at_threshold`` the same for the bare threshold, without a promise. Of everybody's best options,
    as many as the spec allows, ``many_changes`` is the share with more than ``MANY_CHANGES``, and ``promise_...`` are
    the means of what the promise guarantees; its constants are told also where there are none. ``measured`` is the
    model's margin. Where a round may have ``asked`` for a score, ``without_option_in_round`` is the share without an
    option that exceeds this ``round_score``. The result is empty where nobody is rejected.
    """
    people = rejected[:PEOPLE]
    if not len(people):
        return {}
    spec, cost = codec.spec, cost_of(codec, reference)
    objective = objective_of(spec, cost, nu_of(spec, codec.dimension), improvement, score)
    generator = generator_of(codec, codec.encode_many(instances), objective)
    threshold, margin = spec.model.threshold, margin_of(spec, measured)
    goal, bare = goal_of(spec, margin), goal_of(spec, 0.0)
    promise = promise or NoPromise()
    proposals = generator.under(promise.robust(score_of_options(score)), goal).propose(people)
    without = np.setdiff1d(np.arange(len(people)), proposals.people)
    facts = {"rejected_sampled": float(len(people)), "without_option": len(without) / len(people)}
    if margin or not isinstance(promise, NoPromise):
        served = generator.under(score, bare).propose(people[without]).people
        facts["without_option_at_threshold"] = (len(without) - len(np.unique(served))) / len(people)
    if asked is not None:
        served = generator.under(score, Threshold(asked)).propose(people).people
        facts |= {"round_score": asked, "without_option_in_round": 1.0 - len(np.unique(served)) / len(people)}
    if len(proposals.people):
        options = best_options(proposals, objective, people, spec.policy.options)
        facts["many_changes"] = float((_changes(options, people, codec.feature_of) > MANY_CHANGES).mean())
        kept = [promise.guarantee(target, score, threshold) or {} for target in options[1]]
        for name in dict.fromkeys(name for guarantee in kept for name in guarantee):
            facts[PROMISED + name] = float(np.mean([each[name] for each in kept if name in each]))
    return facts | {PROMISED + name: number for name, number in promise.constants().items()}


def best_options(
    proposals: Proposals, objective: Objective, people: Floats, most: int
) -> tuple[NDArray[np.intp], Floats]:
    """The people and targets, (m,) and (m, D), of everybody's best options, at most ``most`` of each."""
    whose, _, points, point = proposals
    order = np.lexsort((objective.loss_of_pairs(points, people, point, whose), whose))
    rank = np.arange(len(order)) - np.searchsorted(whose[order], whose[order])
    kept = order[rank < most]
    return whose[kept], points[point[kept]]


def _changes(
    options: tuple[NDArray[np.intp], Floats], people: Floats, feature_of: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The number of features that each option changes, (m,)."""
    whose, targets = options
    of_feature = np.eye(int(feature_of.max()) + 1, dtype=bool)[feature_of]
    return np.asarray(((targets != people[whose]) @ of_feature).sum(axis=1))
