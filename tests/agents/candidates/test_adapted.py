"""Adapted options lead towards their instance, and of each set of features there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.candidates.adapted import Adapted
from onward.agents.costs import L1
from onward.agents.goals import ThresholdGoal
from onward.agents.improvement import OwnScore
from onward.agents.objective import Objective
from onward.testing.spaces import scaled_space

Array = np.ndarray[Any, Any]
FEATURE_OF = np.array([0, 1, 2, 2, 2, 2, 2])
STEPS = np.array([0.05, 0.01, 0.0])
KINDS = 5


def rows(random: np.random.Generator, count: int) -> Array:
    numbers = np.round(random.integers(0, 21, (count, 2)) * 0.05, 9)
    return np.hstack([numbers, np.eye(KINDS)[random.integers(0, KINDS, count)]])


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_change_leads_towards_the_instance_and_no_set_of_changes_comes_twice(seed: int) -> None:
    random = np.random.default_rng(seed)
    weights = random.normal(0, 1, len(FEATURE_OF))
    instances, people = rows(random, 30), rows(random, 5)
    adapted = Adapted.build(scaled_space(FEATURE_OF, ("any", "up", "any"), STEPS), instances, Objective(L1()))
    found = adapted.under(lambda X: X @ weights, ThresholdGoal(0.6)).propose(people)
    for whose in range(len(people)):
        own = found.people == whose
        sets = set()
        for arm, target in zip(found.arm[own], found.points[found.point[own]], strict=True):
            person, instance = people[whose], instances[arm]
            between = np.sort([person[:2], instance[:2]], axis=0)
            assert ((target[:2] >= between[0] - 1e-9) & (target[:2] <= between[1] + 1e-9)).all()
            assert (target[2:] == person[2:]).all() or (target[2:] == instance[2:]).all()
            sets.add(tuple(np.unique(FEATURE_OF[target != person])))
        assert len(sets) == own.sum()


def test_where_nothing_may_change_nobody_has_an_option() -> None:
    instances = rows(np.random.default_rng(0), 3)
    adapted = Adapted.build(scaled_space(FEATURE_OF, ("none", "none", "none"), STEPS), instances, Objective(L1()))
    found = adapted.under(lambda X: X[:, 0], ThresholdGoal(0.0)).propose(instances)
    assert not len(found.arm)


def test_where_options_are_to_help_none_is_far_dearer_than_the_best() -> None:
    """Either number reaches the goal, the second by going six times as far; it is an option where only costs count."""

    def score(X: Array) -> Array:
        return np.where((X[:, 0] >= 0.1) | (X[:, 1] >= 0.6), 0.9, 0.1)

    space = scaled_space(FEATURE_OF, ("any", "up", "none"), STEPS)
    person, instances = np.zeros((1, len(FEATURE_OF))), np.zeros((2, len(FEATURE_OF)))
    person[0, 2] = instances[:, 2] = 1.0
    instances[0, 0], instances[1, 1] = 0.1, 0.6
    for objective, arms in ((Objective(L1()), [0, 1]), (Objective(L1(), 1.0, OwnScore(score)), [0])):
        adapted = Adapted.build(space, instances, objective).under(score, ThresholdGoal(0.5))
        assert adapted.propose(person).arm.tolist() == arms
