"""How many rejected people a new model leaves without an option, and how many features the options change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import UnsetType
from msgspec.structs import replace
from numpy.typing import NDArray

from ....agents.candidates import Proposals
from ....agents.goals import Goal, Threshold, accepted
from ....agents.promises import NoPromise, Promise
from ....agents.scores import Score
from ....schemas.encoding import FeatureCodec
from ....schemas.feature_reader import Features
from ....schemas.spec import ProgramSpec
from ...advice import MANY_CHANGES
from ..margin import goal_of, margin_of
from ..models.scoring import score_of_options
from .unsaved_program import Floats, UnsavedProgram

FEWEST_ROWS = 30
"""Of fewer rows a share says little."""
PEOPLE = 50
"""Rejected people who are looked at."""
BREAKING = "without_option_breaking"
"""The share of people who have no option, and who break a constraint across features as they are."""
BELOW_THE_FLOOR = "only_below_the_floor"
"""The share of people who have only options below the floor."""
ONLY_UP_TO_A_POINT = "only_up_to_a_point"
"""The share of people all of whose options are rejected when they do more, where those are refused."""
BROKEN = "broken:"
"""Begins the names of metrics that count the rows which break a constraint across features: it follows."""
ONLY_WAY = "only_way:"
"""Begins the names of metrics that are shares of people all of whose ways change a feature: its name follows."""
PROMISED = "promise_"
"""Begins the names of metrics that are means of what a promise guarantees."""


def measure_served(
    spec: ProgramSpec,
    unsaved: UnsavedProgram,
    measured: float | UnsetType,
    rejected: Floats,
    promise: Promise | None = None,
    asked: float | None = None,
) -> Mapping[str, float]:
    """Measures of what a program can propose to the first of some ``rejected`` people (n, D).

    ``rejected_sampled`` is their number, ``without_option`` the share without an option, and
    ``without_option_at_threshold`` the same for the bare threshold, without a promise. Of everybody's best options,
    as many as the spec allows, ``many_changes`` is the share with more than ``MANY_CHANGES``, and ``promise_...`` are
    the means of what the promise guarantees; its constants are told also where there are none. ``measured`` is the
    model's margin. Where a round may have ``asked`` for a score, ``without_option_in_round`` is the share without an
    option that exceeds this ``round_score``. ``BREAKING`` stands there where it is more than 0. The result is
    empty where nobody is rejected. Where options have a floor, ``only_below_the_floor`` is the share of people who have
    none because of it; where more is refused, ``ONLY_UP_TO_A_POINT`` is that of people all of whose ways are rejected
    when they do more. ``ONLY_WAY`` begins the shares of people of whose ways each changes a feature.
    """
    people = rejected[:PEOPLE]
    if not len(people):
        return {}
    score, margin = unsaved.score, margin_of(spec, measured)
    promise = promise or NoPromise()
    robust = promise.robust(score_of_options(score))
    proposals = unsaved.under(robust, goal_of(spec, margin)).propose(people)
    without = np.setdiff1d(np.arange(len(people)), proposals.people)
    facts = {"rejected_sampled": float(len(people)), "without_option": len(without) / len(people)}
    if breaking := int((~unsaved.space.allowed(people[without])).sum()):
        facts[BREAKING] = breaking / len(people)
    facts |= lost_by_rule(unsaved, robust, goal_of(spec, margin), people[without], len(people))
    if margin or not isinstance(promise, NoPromise):
        served = unsaved.under(score, goal_of(spec, 0.0)).propose(people[without]).people
        facts["without_option_at_threshold"] = (len(without) - len(np.unique(served))) / len(people)
    if asked is not None:
        served = unsaved.under(score, Threshold(asked)).propose(people).people
        facts |= {"round_score": asked, "without_option_in_round": 1.0 - len(np.unique(served)) / len(people)}
    facts |= only_ways(spec, unsaved, proposals, people)
    if len(proposals.people):
        whose, targets = unsaved.best_options(proposals, people, spec.policy.options)
        facts["many_changes"] = float((unsaved.changes(whose, targets, people) > MANY_CHANGES).mean())
        kept = [promise.guarantee(target, score, unsaved.threshold) or {} for target in targets]
        for name in dict.fromkeys(name for guarantee in kept for name in guarantee):
            facts[PROMISED + name] = float(np.mean([each[name] for each in kept if name in each]))
    return facts | {PROMISED + name: number for name, number in promise.constants().items()}


def lost_by_rule(
    unsaved: UnsavedProgram, score: Score, goal: Goal, without: Floats, people: int
) -> Mapping[str, float]:
    """The shares of so many ``people`` who are ``without`` an option (n, D) by each rule on what they are told.

    Somebody who has no option above the floor counts as below it, whatever becomes of a person who does more.
    """
    facts: dict[str, float] = {}
    policy, objective = unsaved.policy, unsaved.objective
    refuses, lost = policy.overshoot == "refuse", 0
    limited = unsaved._replace(policy=replace(policy, overshoot=None))
    if refuses:
        lost = len(np.unique(limited.under(score, goal).propose(without).people))
        facts[ONLY_UP_TO_A_POINT] = lost / people
    if objective.floor is not None:
        free = limited._replace(objective=objective._replace(floor=None))
        served = free.under(score, goal).propose(without).people
        facts[BELOW_THE_FLOOR] = (len(np.unique(served)) - lost) / people
    return facts


def only_ways(spec: ProgramSpec, unsaved: UnsavedProgram, proposals: Proposals, people: Floats) -> Mapping[str, float]:
    """The share of people (n, D) all of whose options change a feature, by feature; those of nobody are left out."""
    whose = proposals.people
    of_feature = np.eye(len(spec.features), dtype=bool)[unsaved.space.feature_of]
    changed = ((unsaved.objective.acted(proposals.targets, people[whose]) != people[whose]) @ of_feature).astype(bool)
    needed = np.array([changed[whose == person].all(axis=0) for person in np.unique(whose).tolist()])
    shares = needed.sum(axis=0) / len(people) if len(needed) else np.zeros(len(spec.features))
    return {ONLY_WAY + spec.features[at].name: shares.item(at) for at in np.flatnonzero(shares).tolist()}


def just_above(spec: ProgramSpec, scores: Floats, labels: NDArray[np.int64]) -> dict[str, float]:
    """The share of desired labels (n,) among the rows whose scores (n,) the model just accepts.

    Those are the lowest tenth of the accepted ones, and at least ``FEWEST_ROWS``. Nothing where there are fewer, and
    where options need not help.
    """
    above = np.flatnonzero(accepted(scores, spec.model.threshold))
    if spec.policy.least_help is None or len(above) < FEWEST_ROWS:
        return {}
    nearest = above[np.argsort(scores[above], kind="stable")][: max(FEWEST_ROWS, len(above) // 10)]
    return {"just_above": float(labels[nearest].mean())}


def broken_rows(codec: FeatureCodec, rows: Iterable[Features]) -> Mapping[str, float]:
    """How many rows break a constraint across features, by ``BROKEN`` and its name; nothing where none does."""
    return {BROKEN + constraint: float(count) for constraint, count in codec.broken_constraints(rows).items()}
