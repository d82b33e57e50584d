"""What people are told after a few questions, in worlds with a known truth: the cheapest plans, or those that help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.candidates.plans import PlanGenerator
from onward.agents.choices.questions import NO_ANSWER, Belief, Interview, InterviewRules
from onward.agents.costs import Columns, MixedCost
from onward.agents.costs.plan_costs import Pool
from onward.agents.costs.prior import prior_of
from onward.agents.costs.responses import Noiseless
from onward.agents.objective import Objective
from onward.benchmarks.truth.aims import AUTO
from onward.benchmarks.truth.improvement import Figure, Trials
from onward.environments.truth.preferences import HiddenCosts

Array = NDArray[np.float64]

PEOPLE, SAMPLES, CHANGES = 200, 300, 3
CAN_CHANGE = 0.5
"""The share of people who can change each feature. Nobody is told who can change what."""
QUESTIONS = 3


class Told(NamedTuple):
    """What comes of a person's first plan: how probably they carry it out, and it then helps, and both together."""

    execution: float
    improvement: float

    @property
    def reward(self) -> float:
        """How probably they are better off."""
        return self.execution * self.improvement


def figures(trials: Trials, data: str) -> Iterator[Figure]:
    """The figures of one world: of people who can change about half of the features, each in a way of their own."""
    told = {name: _told(trials, objective) for name, objective in _objectives(trials).items()}
    for name, by_answers in told.items():
        for answers, people in by_answers.items():
            title = f"asked {data}, plans {name}, {answers} questions"
            yield Figure(f"{title}, reward", float(np.mean([one.reward for one in people])))
            yield Figure(f"{title}, carried out", float(np.mean([one.execution for one in people])))
            yield Figure(f"{title}, help", float(np.mean([one.improvement for one in people])))


def _objectives(trials: Trials) -> Mapping[str, Objective]:
    codec, (rows, _) = trials.plain.codec, trials.plain.training
    movable = np.array([feature.may_change for feature in codec.spec.features])
    cost = MixedCost(Columns(codec.feature_of, movable), rows[:1000], SAMPLES, 0)
    nu = trials.objective.nu
    return {"by cost": Objective(cost, nu), "that help": Objective(cost, nu, trials.improvement)}


def _always(pool: Pool[Array], _: Array) -> Pool[Array]:
    return pool


def _asked(interview: Interview[Array], costs: Array) -> Iterator[Belief]:
    """What is known after none, one, ... of the answers of somebody whom plans cost (n,)."""
    answers: list[int] = []
    for belief in interview.course(answers):
        yield belief
        if belief.question is not None:
            offered = costs[list(belief.question)]
            answers.append(int(offered.argmin()) if np.isfinite(offered).any() else NO_ANSWER)


def _told(trials: Trials, objective: Objective) -> Mapping[int, list[Told]]:
    """What is told to people after no question, and after some; who has no plan is left better off by nothing."""
    world, cost = trials.plain, objective.cost
    assert isinstance(cost, MixedCost)
    aim = trials.aims.of(AUTO, PlanGenerator.name, objective.improvement, CHANGES)
    generator = PlanGenerator.build(trials.space(CHANGES), world.distinct[:0], objective).under(aim.score, aim.goal)
    applications = np.unique(world.row_of, return_index=True)[1][:PEOPLE]
    random, movable = np.random.default_rng(world.distinct.shape[1]), cost.columns.movable
    editable = random.random((len(applications), len(movable))) < np.where(movable, CAN_CHANGE, 0.0)
    hidden = HiddenCosts(cost, editable, random)
    found: dict[int, list[Told]] = {0: [], QUESTIONS: []}
    for number, application in enumerate(applications.tolist()):
        person = world.distinct[world.row_of[application]]
        plans = generator.plans(person)
        if not len(plans.arm):
            for people in found.values():
                people.append(Told(0.0, 0.0))
            continue
        who, many = np.full(len(plans.arm), number), np.broadcast_to(person, plans.targets.shape)
        costs = hidden.of_pairs(who, many, plans.targets)
        pool = generator.pool_of(plans)
        rules = InterviewRules(QUESTIONS, tolerance=0.0, repeats=False)
        beliefs = list(
            _asked(Interview(partial(_always, pool), person, prior_of(cost), Noiseless(), [number], rules), costs)
        )
        for count, people in found.items():
            plan = beliefs[min(count, len(beliefs) - 1)].recommended
            helps = world.chances(np.array([application]), plans.targets[[plan]]).improvement.item()
            people.append(Told(float(np.exp(-objective.nu * costs[plan])), helps))
    return found
