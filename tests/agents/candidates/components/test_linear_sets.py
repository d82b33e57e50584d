"""The closed form for linear scores, beside an exhaustive search and beside the search for any model."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.candidates import registry
from onward.agents.candidates.search import Search
from onward.agents.costs import L1
from onward.agents.goals import ThresholdGoal
from onward.agents.objective import Objective
from onward.agents.promises import Ellipsoid, LpBall, WorstCaseScore
from onward.testing.spaces import SigmoidScore, scaled_space

Array = np.ndarray[Any, Any]
FEATURE_OF = np.array([0, 1, 2, 3, 3, 3])
STEPS = np.array([0.1, 0.25, 0.2, 0.0])


def drawn(seed: int, most: int | None, steps: Array = STEPS) -> tuple[Search, SigmoidScore, Array, tuple[str, ...]]:
    """A search under a random linear score, and a person who is rejected."""
    random = np.random.default_rng(seed)
    line = SigmoidScore(random.normal(0, 2, 6), -1.5)
    mutable = (*random.choice(["any", "up", "down", "none"], 3, p=[0.4, 0.2, 0.2, 0.2]).tolist(), "any")
    space = scaled_space(FEATURE_OF, mutable, steps, most)
    person = np.concatenate([random.integers(0, 3, 3) * steps[:3], np.eye(3)[random.integers(3)]])
    line.bias -= max(0.0, float(np.log(line(person[np.newaxis])[0]) - np.log1p(-line(person[np.newaxis])[0])) + 0.1)
    return Search.build(space, np.zeros((0, 6)), Objective(L1())).under(line, ThresholdGoal(0.5)), line, person, mutable


def every_target(person: Array, mutable: tuple[str, ...], most: int) -> Array:
    """All rows that differ from a person by the rules, in at most so many features."""
    values = []
    for index, (rule, step) in enumerate(zip(mutable[:3], STEPS[:3], strict=True)):
        places = np.round(person[index] + step * np.arange(-20, 21), 9)
        places = places[(places >= 0) & (places <= 1)]
        allowed = {"any": places == places, "up": places >= person[index], "down": places <= person[index]}
        values.append(places[allowed[rule]] if rule != "none" else person[index : index + 1])
    rows = np.array([[*numbers, *kind] for *numbers, kind in product(*values, np.eye(3).tolist())])
    changed = (rows[:, :3] != person[:3]).sum(axis=1) + (rows[:, 3:] != person[3:]).any(axis=1)
    return rows[(changed > 0) & (changed <= most)]


@pytest.mark.parametrize("most", [1, 2, 4])
def test_serves_everybody_for_whom_there_is_an_option_at_nearly_the_least_cost(most: int) -> None:
    """Fixed seeds: 150 people, each with a score of their own."""
    costs = []
    for seed in range(150):
        search, line, person, mutable = drawn(seed, most)
        targets = every_target(person, mutable, most)
        valid = targets[line(targets) > 0.5]
        found = search.propose(person[np.newaxis])
        assert bool(len(found.arm)) == bool(len(valid)), f"seed {seed}"
        if len(valid):
            assert (line(found.points) > 0.5).all()
            costs.append([np.abs(rows - person).sum(axis=1).min() for rows in (found.points, valid)])
    ours, optimum = np.array(costs).T
    assert len(costs) > 50
    assert (ours >= optimum - 1e-9).all()
    assert ours.mean() <= 1.01 * optimum.mean()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), most=st.sampled_from([1, 2, 3, None]))
def test_costs_no_more_than_the_search_for_any_model_and_a_step(seed: int, most: int | None) -> None:
    search, line, person, _ = drawn(seed, most, STEPS / 10)
    general = Search(search.space, Objective(L1()), lambda X: line(X), ThresholdGoal(0.5))
    ours, theirs = (np.abs(one.propose(person[np.newaxis]).points - person).sum(axis=1) for one in (search, general))
    assert len(ours) or not len(theirs)
    if len(theirs):
        assert ours.min() <= theirs.min() + STEPS.max() / 10 + 1e-9


def test_a_person_out_of_reach_is_told_how_far_the_changes_lead() -> None:
    line = SigmoidScore(np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0]), -3.0)
    space = scaled_space(FEATURE_OF, ("up", "up", "none", "none"), STEPS / 100, 1)
    search = Search.build(space, np.zeros((0, 6)), Objective(L1())).under(line, ThresholdGoal(0.25))
    explanation = search.explain(np.array([0.0, 0.5, 0.0, 1.0, 0.0, 0.0]))
    assert explanation.reason == "out_of_reach"
    assert explanation.scores == "a score above 0.25 is required; the best reaches 0.18"
    assert explanation.detail.startswith("no allowed change of ")


def test_what_the_best_reaches_keeps_the_constraints() -> None:
    line = SigmoidScore(np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0]), -3.0)
    rules = ("up", "up", "none", "none")
    space = scaled_space(FEATURE_OF, rules, STEPS)._replace(allowed=lambda X: X[:, 0] + X[:, 1] <= 1.0 + 1e-9)
    search = Search.build(space, np.zeros((0, 6)), Objective(L1())).under(line, ThresholdGoal(0.30))
    explanation = search.explain(np.array([0.0, 0.5, 0.0, 1.0, 0.0, 0.0]))
    assert "no allowed change of " in explanation.detail
    assert "the best reaches 0.11" in explanation.scores  # the log odds of 1 + 0 - 3, not of 1 + 1 - 3


def test_only_linear_needs_a_linear_score() -> None:
    assert [name for name, kind in registry.items() if kind.needs_linear_score] == ["linear"]


def test_a_small_step_of_a_dearer_feature_completes_large_steps_of_a_cheaper_one() -> None:
    """One coarse step leaves a little to do, for which another coarse one costs ten times as much as two fine ones."""
    line = SigmoidScore(np.array([10.0, 8.0, 0.0, 0.0, 0.0, 0.0]), -1.1)
    space = scaled_space(FEATURE_OF, ("up", "up", "none", "none"), np.array([0.1, 0.01, 0.1, 0.0]), None)
    search = Search.build(space, np.zeros((0, 6)), Objective(L1())).under(line, ThresholdGoal(0.5))
    person = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    found = search.propose(person[np.newaxis])
    cheapest = found.points[np.abs(found.points - person).sum(axis=1).argmin()]
    np.testing.assert_allclose(cheapest, [0.1, 0.02, 0.0, 1.0, 0.0, 0.0])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    most=st.sampled_from([1, 2, 3, None]),
    radius=st.floats(0, 5),
    p=st.sampled_from([1.0, 2.0, np.inf, None]),
)
def test_the_worst_of_near_models_is_served_at_little_more_than_by_the_search(
    seed: int, most: int | None, radius: float, p: float | None
) -> None:
    plain, line, person, _ = drawn(seed, most, STEPS / 10)
    spread = np.random.default_rng(seed).normal(size=(7, 7))
    worst = WorstCaseScore(line, Ellipsoid(spread @ spread.T / 7, radius) if p is None else LpBall(radius, p))
    ours = plain.under(worst, ThresholdGoal(0.5)).propose(person[np.newaxis])
    general = plain.under(lambda X: worst(X), ThresholdGoal(0.5)).propose(person[np.newaxis])
    assert (worst(ours.points) > 0.5).all()
    assert bool(len(ours.arm)) >= bool(len(general.arm))
    if len(general.arm):
        costs = [np.abs(found.points - person).sum(axis=1).min() for found in (ours, general)]
        assert costs[0] <= 1.3 * costs[1] + STEPS.max() / 5
