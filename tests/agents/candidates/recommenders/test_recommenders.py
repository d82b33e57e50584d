"""Recommenders beside brute force, on the paper's population, and by the laws that hold for all of them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from onward.agents.candidates.recommenders import (
    Bounds,
    MaximalSuccess,
    Recommendations,
    Recommender,
)
from onward.agents.candidates.recommenders.joint_success import plan_people
from onward.agents.costs import plan_success
from onward.benchmarks.competition.recommenders import MinimalL1, MinimalL2, Wachter
from onward.streams.programs.models.scoring import LogisticScore
from onward.testing.spaces import SigmoidScore

Array = np.ndarray[Any, Any]
FEATURES = 3
DIFFICULTY = np.array([0.84, 0.15, 0.3])


def drawn(seed: int, count: int = 40) -> tuple[SigmoidScore, Array, Array, Bounds]:
    """People, some at the ends of their features, with targets of their own; features rise, fall or do both."""
    random = np.random.default_rng(seed)
    line = SigmoidScore(random.normal(0, 3, FEATURES), random.normal(-1, 1))
    people = np.clip(random.normal(0.5, 0.35, (count, FEATURES)), 0, 1)
    lowest, highest = np.zeros_like(people), np.ones_like(people)
    rules = random.choice(["any", "up", "down", "none"], FEATURES, p=[0.55, 0.2, 0.15, 0.1])
    highest[:, np.isin(rules, ["down", "none"])] = people[:, np.isin(rules, ["down", "none"])]
    lowest[:, np.isin(rules, ["up", "none"])] = people[:, np.isin(rules, ["up", "none"])]
    return line, people, random.uniform(0.05, 0.95, count), Bounds(lowest, highest)


EXACT: list[Recommender] = [MinimalL2(), MinimalL1(DIFFICULTY), MaximalSuccess(0.05 / DIFFICULTY)]
every = pytest.mark.parametrize("recommender", [*EXACT, Wachter()], ids=lambda recommender: recommender.name)
exact = pytest.mark.parametrize("recommender", EXACT, ids=lambda recommender: recommender.name)
quickly = settings(max_examples=25, deadline=None)


@every
@quickly
@given(seed=st.integers(0, 2**32))
def test_keeps_the_bounds_and_says_who_reaches_the_target(recommender: Recommender, seed: int) -> None:
    line, people, targets, bounds = drawn(seed)
    plans = recommender.recommend(line, people, targets, bounds)
    assert (plans.targets >= bounds.lowest - 1e-12).all()
    assert (plans.targets <= bounds.highest + 1e-12).all()
    assert (line(plans.targets)[plans.reached] >= targets[plans.reached]).all()
    out_of_reach = plans.best < targets
    assert not plans.reached[out_of_reach].any()
    assert np.array_equal(plans.targets[out_of_reach], people[out_of_reach])
    assert np.array_equal(plans.targets[line(people) > targets], people[line(people) > targets])


@exact
@quickly
@given(seed=st.integers(0, 2**32))
def test_everybody_within_reach_gets_the_target_exactly(recommender: Recommender, seed: int) -> None:
    line, people, targets, bounds = drawn(seed)
    plans = recommender.recommend(line, people, targets, bounds)
    assert plans.reached[plans.best > targets + 1e-9].all()
    changed = plans.reached & (line(people) < targets)
    if not (recommender.name == "maximal_success" and (line.weights < 0).any()):
        assert (line(plans.targets)[changed] <= targets[changed] + 1e-9).all()


@every
def test_best_is_the_highest_score_within_reach(recommender: Recommender) -> None:
    line, people, targets, bounds = drawn(3)
    corners = np.where(line.weights > 0, bounds.highest, bounds.lowest)
    assert np.allclose(recommender.recommend(line, people, targets, bounds).best, line(corners), rtol=0, atol=1e-12)


@every
@quickly
@given(seed=st.integers(0, 2**32))
def test_a_person_s_plan_depends_on_no_one_else(recommender: Recommender, seed: int) -> None:
    line, people, targets, bounds = drawn(seed, 6)
    together = recommender.recommend(line, people, targets, bounds)
    for i in range(6):
        own = Bounds(bounds.lowest[i : i + 1], bounds.highest[i : i + 1])
        alone = recommender.recommend(line, people[i : i + 1], targets[i : i + 1], own)
        assert alone.targets.tobytes() == together.targets[i].tobytes()


@every
def test_targets_beyond_all_scores_are_out_of_reach_or_reached(recommender: Recommender) -> None:
    line, people, _, bounds = drawn(5)
    assert not recommender.recommend(line, people, np.ones(len(people)), bounds).reached.any()
    plans = recommender.recommend(line, people, np.zeros(len(people)), bounds)
    assert plans.reached.all()
    assert np.array_equal(plans.targets, people)


@exact
def test_no_rounding_leaves_a_plan_below_its_target(recommender: Recommender) -> None:
    """Targets of 1e-7, where a score from a hyperbolic tangent is exact to 1e-17 only, and just above the person."""
    score = LogisticScore(np.array([20.0, 3.0, 0.5]), -25.0)
    people = np.random.default_rng(0).uniform(0.0, 0.4, (200, FEATURES))
    for targets in (np.full(200, 1e-7), np.full(200, 1.0 - 1e-9), score(people) + 1e-12):
        plans = recommender.recommend(score, people, targets, Bounds(np.zeros(1), np.full(1, 3.0)))
        assert plans.reached.all()
        assert (score(plans.targets) >= targets).all()
        assert (score(plans.targets) <= np.maximum(targets, score(people)) + 1e-9).all()


@every
def test_no_people_have_no_plans(recommender: Recommender) -> None:
    line, people, targets, bounds = drawn(5)
    plans = recommender.recommend(line, people[:0], targets[:0], Bounds(bounds.lowest[:0], bounds.highest[:0]))
    assert plans.targets.shape == (0, FEATURES)


def changed(plans: Recommendations, line: SigmoidScore, people: Array, targets: Array) -> list[int]:
    return np.flatnonzero(plans.reached & (line(people) < targets)).tolist()


def logit(score: float) -> float:
    return float(np.log(score) - np.log1p(-score))


def test_minimal_l1_costs_what_linear_programming_finds() -> None:
    compared = 0
    for seed in range(30):
        line, people, targets, bounds = drawn(seed, 10)
        plans = MinimalL1(DIFFICULTY).recommend(line, people, targets, bounds)
        for i in changed(plans, line, people, targets):
            gain = np.concatenate([line.weights, -line.weights])
            room = [*zip(np.zeros(3), bounds.highest[i] - people[i], strict=True)]
            room += [*zip(np.zeros(3), people[i] - bounds.lowest[i], strict=True)]
            missing = logit(targets[i]) - people[i] @ line.weights - line.bias
            optimum = linprog([*DIFFICULTY, *DIFFICULTY], -gain[None], [-missing], bounds=room).fun
            assert abs(np.abs(plans.targets[i] - people[i]) @ DIFFICULTY - optimum) < 1e-8
            compared += 1
    assert compared > 80


def test_minimal_l2_is_nearest_among_all_choices_of_features_at_their_bounds() -> None:
    compared = 0
    for seed in range(30):
        line, people, targets, bounds = drawn(seed, 10)
        plans = MinimalL2().recommend(line, people, targets, bounds)
        room = np.where(line.weights > 0, bounds.highest - people, people - bounds.lowest)
        for i in changed(plans, line, people, targets):
            gain = np.abs(line.weights)
            missing, best = logit(targets[i]) - people[i] @ line.weights - line.bias, np.inf
            for size in range(FEATURES + 1):
                for fixed in map(list, combinations(range(FEATURES), size)):
                    free = np.setdiff1d(np.arange(FEATURES), fixed)
                    changes, rest = room[i].copy(), missing - gain[fixed] @ room[i][fixed]
                    changes[free] = rest * gain[free] / max(1e-300, (gain[free] ** 2).sum()) if len(free) else 0.0
                    if (changes >= 0).all() and (changes <= room[i] + 1e-12).all() and changes @ gain >= missing - 1e-9:
                        best = min(best, float((changes**2).sum()))
            assert abs(((plans.targets[i] - people[i]) ** 2).sum() - best) < 1e-8
            compared += 1
    assert compared > 80


def dense_optimum(
    missing: float, person: Array, room: Array, sign: Array, theta: Array, gain: Array, points: int = 200
) -> float:
    """The largest joint success of all changes of two features on a grid, with the third as it must be."""
    shares = np.linspace(0, 1, points) ** 2
    best = 0.0
    for last in range(3):
        first, second = (m for m in range(3) if m != last)
        one, two = np.meshgrid(room[first] * shares, room[second] * shares, indexing="ij")
        least = np.clip((missing - gain[first] * one - gain[second] * two) / gain[last], 0, None)
        for three in (least, np.full_like(least, room[last])):
            fits = (three >= least) & (three <= room[last])
            changes = np.stack([one, two, three], axis=-1)[fits][:, np.argsort([first, second, last])]
            success = plan_success(person, np.clip(person + sign * changes, 0, 1), theta)
            best = max(best, float(success.max(initial=0.0)))
    return best


@pytest.mark.parametrize("hardness", [0.2, 0.05, 0.01, 0.002])
def test_maximal_success_is_not_below_a_dense_grid(hardness: float) -> None:
    """Also where the loss is not convex: three features, both directions, theta from easy to hard."""
    random = np.random.default_rng(int(1000 * hardness))
    for _ in range(40):
        person, gain = np.clip(random.normal(0.5, 0.3, 3), 0, 1), random.uniform(0.3, 6, 3)
        sign = random.choice([1.0, 1.0, 1.0, -1.0], 3)
        theta = hardness / random.uniform(0.1, 0.9, 3)
        room = np.where(sign > 0, 1 - person, 0.8 * person) * random.choice([1.0, 0.6], 3)
        room[room < 1e-9] = 0.0
        missing = float(random.uniform(0.05, 0.95) * (gain @ room))
        found = np.zeros((1, 3))
        plan_people(np.array([missing]), person[None], room[None], (sign, theta, gain), found)
        assert (found >= 0).all()
        assert (found[0] <= room + 1e-12).all()
        assert found[0] @ gain >= missing - 1e-11
        ours = float(plan_success(person, np.clip(person + sign * found[0], 0, 1), theta))
        assert ours >= dense_optimum(missing, person, room, sign, theta, gain) * (1 - 1.1e-3)
