"""Forecasts: how probably people reach a score, by the difficulties that were learned so far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....agents.costs import attainability, plan_success
from ....agents.goals import Prospects, ThresholdGoal
from ....agents.reached import reaches_target
from ...programs.bundle.loader import ModelBundle
from ...programs.models.scoring import score_of_options, splits_of
from ...programs.objective import vetting_of
from ..state import CurrentModel
from .promised_scores import PromisedScore
from .result import too_early
from .state import Closing, ProgramRounds, RoundMember, Sample

Array = NDArray[np.float64]

SAMPLE, LARGE_MODEL_SAMPLE = 100, 30
"""The most people whose success is predicted at several scores; fewer under a model that is no linear score."""

UNCHANGED = 1e-12
"""A difference of encoded numbers that comes from rounding."""


def model_for(rounds: ProgramRounds, bundle: ModelBundle, score: float) -> CurrentModel:
    """A model with the generator of options that score more than ``score``."""
    generator = rounds.program.generator.with_difficulty(rounds.learners.difficulty.difficulty, rounds.capacity.beta)
    program = rounds.program
    objective, options = program.objective_under(bundle), score_of_options(bundle.model.score)
    policy, splits = program.spec.policy, splits_of(bundle.model, program.codec.dimension)
    vetting = vetting_of(policy, program.space, generator, objective, options, ThresholdGoal(score), splits=splits)
    return CurrentModel(program, bundle, vetting)


def success_of(rounds: ProgramRounds, people: Array, targets: Array) -> Array:
    """The predicted probabilities (n,) that people (n, D) carry their targets (n, D) out, all changes of them.

    A change between categories counts as certain: equation 7 says nothing of them.
    """
    columns = number_columns(rounds)
    theta = rounds.learners.difficulty.theta[rounds.program.codec.feature_of[columns]]
    return plan_success(people[:, columns], targets[:, columns], theta)


def number_columns(rounds: ProgramRounds) -> NDArray[np.intp]:
    """The encoded columns of numbers and levels, ascending."""
    categorical = np.array([feature.type == "categorical" for feature in rounds.program.spec.features])
    return np.flatnonzero(~categorical[rounds.program.codec.feature_of])


def sample_of(rejected: Sequence[RoundMember], most: int) -> Sample:
    """At most ``most`` of the rejected, evenly spaced by score."""
    by_score = np.argsort([member.score or 0.0 for member in rejected], kind="stable")
    chosen = np.unique(np.linspace(0, len(rejected) - 1, min(most, len(rejected))).round().astype(int))
    names = tuple([rejected[index].name for index in by_score[chosen]])
    return Sample(names, len(rejected) / max(1, len(names)))


def success_at(rounds: ProgramRounds, bundle: ModelBundle, people: Array, scores: Array) -> Array:
    """The predicted probability (n, G) that each person reaches each of G scores, by the option that is most probable.

    A score that they have already is certain, and one that no option reaches impossible.
    """
    best = np.zeros((len(people), len(scores)))
    current = bundle.model.score(people)
    for column, score in enumerate(scores.tolist()):
        proposals = model_for(rounds, bundle, score).vetting.propose(people)
        success = success_of(rounds, people[proposals.people], proposals.points[proposals.point])
        np.maximum.at(best[:, column], proposals.people, success)
        best[current > score, column] = 1.0
    return best


def carried_over(rounds: ProgramRounds, closing: Closing, bundle: ModelBundle) -> list[PromisedScore]:
    """The promises that stay open after the round: nobody came back with them in it, or it was too early."""
    returned = {promise.key for promise in map(rounds.promise_of, rounds.members) if promise is not None}
    returned -= {promise.key for promise in too_early(rounds, closing, rounds.members, bundle).values()}
    open_promises = (promise for promise in rounds.promised_scores if promise.until_round > closing.number)
    return [promise for promise in open_promises if promise.key not in returned]


def prospects(rounds: ProgramRounds, closing: Closing, open_promises: Sequence[PromisedScore]) -> Prospects:
    """The forecast of those rejected in the round, and of the promises that stay open, for the goal.

    A score that the model does not approve wins no place, however many are left.
    """
    sample = closing.sample
    return Prospects(
        np.frombuffer(sample.success).reshape(len(sample.names), -1) if sample.names else np.empty((0, 0)),
        sample.weight,
        np.array([promise.score for promise in open_promises], dtype=np.float64),
        np.array([1 + promise.rounds_since(closing.number) for promise in open_promises], dtype=np.int64),
        np.array([promise.success for promise in open_promises], dtype=np.float64),
        rounds.places_after(closing),
        rounds.program.spec.model.threshold,
    )


def learn_difficulty(rounds: ProgramRounds, promised: Array, returned: Array) -> None:
    """Learn from a person who came back, encoded (D,), with what they were and could become, (1 + options, D).

    They followed the option of whose changes they made most, the first one of several. A change succeeded when the
    number reached its target.
    """
    person, targets = promised[0], promised[1:]
    columns = number_columns(rounds)
    changes = (targets - person)[:, columns]
    changed = np.abs(changes) > UNCHANGED
    reached = changed & reaches_target(returned[columns], targets[:, columns], np.sign(changes), UNCHANGED)
    share = reached.sum(axis=1) / np.maximum(changed.sum(axis=1), 1)
    option = int(np.argmax(share))
    at = np.flatnonzero(changed[option])
    if not len(at):
        return
    attainable = attainability(person[columns][at], targets[option][columns][at])
    features = rounds.program.codec.feature_of[columns[at]]
    rounds.learners.difficulty.update(features, attainable, reached[option][at])
