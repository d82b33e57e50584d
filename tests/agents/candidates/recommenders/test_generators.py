"""Recommenders as generators, under a linear score: the laws of all generators are in test_generator_contract.py."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onward.agents.candidates import CandidateGenerator, registry
from onward.agents.candidates.recommenders import MaximalSuccess, MaximalSuccessGenerator, Recommender, Task
from onward.agents.candidates.recommenders.whole_steps import whole_steps
from onward.agents.costs import L1
from onward.agents.goals import ThresholdGoal
from onward.agents.objective import Objective
from onward.benchmarks.competition.recommenders import MinimalL1, MinimalL2
from onward.streams.programs.models.scoring import LogisticScore
from onward.testing.spaces import scaled_space

Array = np.ndarray[Any, Any]
FEATURE_OF = np.array([0, 1, 2, 3, 4, 4])
GOAL = ThresholdGoal(0.6)


def drawn(seed: int) -> tuple[CandidateGenerator, CandidateGenerator, Array]:
    """The generator, the search under the same rules, and rejected people; the last feature is one-hot."""
    random = np.random.default_rng(seed)
    rules = random.choice(["any", "up", "down", "none"], 4, p=[0.5, 0.2, 0.2, 0.1]).tolist()
    steps = np.array([0.01, 0.05, 0.1, 0.02, 0.0])
    space = scaled_space(FEATURE_OF, (*rules, random.choice(["any", "none"])), steps, random.choice([None, 1, 2, 3]))
    if random.random() < 0.3:
        space = space._replace(allowed=lambda rows: rows[:, 0] + rows[:, 1] <= 1.2)
    score = LogisticScore(random.normal(0, 3, 6), -1.0)
    people = random.integers(0, 11, (30, 6)) / 10
    people[:, 4:] = np.eye(2)[random.integers(2, size=30)]
    people = people[np.asarray(space.allowed(people)) & (score(people) < GOAL.required)]
    build = [
        registry[kind].build(space, people[:0], Objective(L1())).under(score, GOAL)
        for kind in ("maximal_success", "search")
    ]
    return build[0], build[1], people


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
@example(seed=83219)  # the first steps have an infinite price
def test_serves_whom_the_search_serves_and_keeps_the_rules(seed: int) -> None:
    generator, search, people = drawn(seed)
    found, beside = generator.propose(people), search.propose(people)
    assert set(beside.people.tolist()) <= set(found.people.tolist())
    targets, space = found.points[found.point], search.space
    change = targets - people[found.people]
    for feature, rule in enumerate(space.mutable[:4]):
        assert rule != "none" or not change[:, feature].any()
        assert rule != "up" or (change[:, feature] >= 0).all()
        assert rule != "down" or (change[:, feature] <= 0).all()
        steps = change[:, feature] / space.smallest_change[feature]
        assert np.abs(steps - np.rint(steps)).max(initial=0) < 1e-6
    assert np.asarray(space.allowed(targets)).all()
    counts = (change[:, :4] != 0).sum(axis=1) + (change[:, 4:] != 0).any(axis=1)
    assert (counts <= (space.max_changes or 5)).all()
    assert (LogisticScore.__call__(generator._score, targets) > GOAL.required).all()


def test_explains_whom_it_does_not_serve_and_nobody_else() -> None:
    for seed in range(20):
        generator, _, people = drawn(seed)
        served = set(generator.propose(people).people.tolist())
        for i, person in enumerate(people):
            if i not in served:
                assert generator.explain(person).reason in ("out_of_reach", "no_allowed_change")
            else:
                with pytest.raises(ValueError, match="feasible"):
                    generator.explain(person)


def test_a_person_gets_the_plan_and_plans_with_fewer_changes() -> None:
    space = scaled_space(np.arange(8), ["any"] * 8, np.full(8, 0.01))
    score = LogisticScore(np.full(8, 3.0), -14.0)
    generator = MaximalSuccessGenerator.build(space, np.zeros((0, 8)), Objective(L1())).under(score, GOAL)
    found = generator.propose(np.full((1, 8), 0.5) + np.arange(8) / 100)
    counts = (np.abs(found.points - np.full(8, 0.5) - np.arange(8) / 100) > 1e-9).sum(axis=1)
    assert len(set(found.arm.tolist())) == len(found.arm) >= 2
    assert counts.min() <= 4


def test_difficulties_decide_which_features_change() -> None:
    space = scaled_space(np.arange(2), ["any"] * 2, np.full(2, 0.01))
    score = LogisticScore(np.array([3.0, 3.0]), -3.2)
    people = np.full((1, 2), 0.5)
    generator = MaximalSuccessGenerator.build(space, people[:0], Objective(L1())).under(score, GOAL)
    for easy in (0, 1):
        difficulty = np.where(np.arange(2) == easy, 0.1, 0.9)
        change = generator.with_difficulty(difficulty, 0.05).propose(people).targets - people
        assert (change[:, easy] >= change[:, 1 - easy]).all()


@pytest.mark.parametrize(
    ("recommender", "most"),
    [(MinimalL2(), 1.04), (MinimalL1(np.array([0.8, 0.2, 0.4])), 1.06), (MaximalSuccess(np.full(3, 0.1)), 1.05)],
    ids=["minimal_l2", "minimal_l1", "maximal_success"],
)
def test_whole_steps_cost_little_more_than_the_best(recommender: Recommender, most: float) -> None:
    """Fixed seeds: 100 people, beside all numbers of steps."""
    random, size = np.random.default_rng(0), np.array([0.05, 0.1, 0.02])
    ours, best = [], []
    for _ in range(100):
        own, gain = random.uniform(0, 0.6, (1, 3)), random.uniform(1, 5, 3)
        most_steps = np.floor((1 - own) / size + 1e-9).astype(np.int64)
        missing = random.uniform(0.1, 0.5) * (most_steps * size) @ gain
        task = Task(own, missing, gain, np.ones(3), most_steps * size, np.zeros(1))
        steps = whole_steps(task, recommender, size, most_steps)
        every_step = np.array(list(product(*[range(count + 1) for count in most_steps[0].tolist()])))
        enough = every_step[(every_step * size) @ gain >= missing]
        many = task._replace(people=np.repeat(own, len(enough), axis=0))
        assert (steps * size) @ gain >= missing
        assert (steps <= most_steps).all()
        ours.append(float(recommender.price(task, steps * size).sum()))
        best.append(float(recommender.price(many, enough * size).sum(axis=1).min()))
    assert (np.array(ours) >= np.array(best) - 1e-12).all()
    assert np.mean(ours) <= most * np.mean(best)
