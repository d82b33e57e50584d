"""Exact robust recourse beside a conic solver and brute force, and by the laws of its problem."""

from __future__ import annotations

import math
from itertools import product
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.candidates.recommenders import Bounds
from onward.agents.promises.ball import LpBall
from onward.benchmarks.competition.recommenders import MinimalL1
from onward.benchmarks.robustness.exact import RobustLinear, Rules, Status
from onward.streams.programs.models.scoring import LogisticScore

Array = np.ndarray[Any, Any]
NORMS = (1.0, 1.01, 1.5, 2.0, 3.0, 20.0, math.inf)
seeds = st.integers(0, 2**32)


class Drawn(NamedTuple):
    robust: RobustLinear
    people: Array
    rules: Rules
    trade: float
    required: float


def drawn(seed: int, p: float, people: int = 1) -> Drawn:
    """A random problem, with zeros and ties; some have bounds, columns that only rise, and costs of their own."""
    random = np.random.default_rng(seed)
    d = int(random.integers(1, 9))
    weights = random.normal(0, random.choice([0.2, 1.0, 3.0]), d)
    own = np.where(
        random.random((people, d)) < 0.3, random.integers(-1, 2, (people, d)), random.normal(size=(people, d))
    )
    rules = Rules(np.full(d, -np.inf), np.full(d, np.inf))
    if random.random() < 0.6:
        kind = random.random(d)
        low = np.where(kind < 0.35, own, own - random.exponential(1.5, d))
        rules = Rules(low, np.where(kind < 0.15, own, own + random.exponential(1.5, d)))
    ball = LpBall(float(random.choice([0.0, 0.02, 0.1, 0.5, 2.0])), p, intercept=random.random() < 0.7)
    cost = np.exp(0.5 * random.normal(size=d)) if random.random() < 0.5 else None
    robust = RobustLinear(weights, float(random.normal() - 1), ball, cost)
    return Drawn(robust, own, rules, float(random.choice([0.5, 0.1, 0.01])), float(random.normal()))


def conic(problem: Drawn, required: float | None = None) -> float:
    """The optimum of a person's problem by cvxpy."""
    robust, own = problem.robust, problem.people[0]
    x = cp.Variable(len(own))
    row = cp.hstack([x, [1.0]]) if robust.ball.intercept else x
    margin = robust.weights @ x + robust.bias - robust.ball.radius * cp.pnorm(row, p=robust.ball.q)
    spent = robust.cost @ cp.abs(x - own)
    limits = []
    if np.isfinite(problem.rules.lowest).all():
        limits = [
            x >= np.broadcast_to(problem.rules.lowest, (1, len(own)))[0],
            x <= np.broadcast_to(problem.rules.highest, (1, len(own)))[0],
        ]
    aim = cp.logistic(-margin) + problem.trade * spent if required is None else spent
    limits += [] if required is None else [margin >= required]
    return float(cp.Problem(cp.Minimize(aim), limits).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, math.inf])
def test_neither_form_is_above_the_optimum_of_a_conic_solver(p: float) -> None:
    for seed in range(12):
        problem = drawn(seed, p)
        answers = problem.robust.price(problem.people, problem.rules, problem.trade)
        assert answers.objective[0] <= conic(problem) + 1e-7
        hard = problem.robust.least_cost(problem.people, problem.rules, problem.required)
        if hard.reached[0] and np.isfinite(problem.rules.lowest).all():
            assert hard.cost[0] <= conic(problem, problem.required) + 1e-6


@settings(max_examples=150)
@given(seed=seeds, p=st.sampled_from(NORMS))
def test_the_price_is_proven_by_a_model_within_the_ball(seed: int, p: float) -> None:
    problem = drawn(seed, p, people=4)
    answers = problem.robust.price(problem.people, problem.rules, problem.trade)
    margin = problem.robust.margin(answers.targets)
    spent = np.abs(answers.targets - problem.people) @ problem.robust.cost
    assert np.allclose(answers.objective, np.logaddexp(0, -margin) + problem.trade * spent, rtol=1e-12, atol=1e-12)
    assert (answers.bound <= answers.objective + 1e-11).all()
    assert (answers.gap <= 1e-9).all()
    assert (answers.targets >= problem.rules.lowest).all()
    assert (answers.targets <= problem.rules.highest).all()
    random = np.random.default_rng(seed)  # the bound is below every other point, not only below the optimum
    elsewhere = problem.people[0] + random.normal(0, 2, (200, problem.people.shape[1]))
    low, high = (np.broadcast_to(end, problem.people.shape)[0] for end in problem.rules[:2])
    elsewhere = np.clip(elsewhere, low, high)
    prices = np.logaddexp(0, -problem.robust.margin(elsewhere))
    prices += problem.trade * np.abs(elsewhere - problem.people[0]) @ problem.robust.cost
    assert answers.objective[0] <= prices.min() + 1e-9


@settings(max_examples=150)
@given(seed=seeds, p=st.sampled_from(NORMS))
def test_the_least_cost_reaches_its_margin_or_proves_that_none_does(seed: int, p: float) -> None:
    problem = drawn(seed, p, people=4)
    answers = problem.robust.least_cost(problem.people, problem.rules, problem.required)
    reached = answers.reached
    assert (problem.robust.margin(answers.targets)[reached] >= problem.required - 1e-12).all()
    if np.isfinite(problem.rules.lowest).all():
        assert (answers.gap[reached] <= 1e-8 * (1 + answers.cost[reached])).all()
        assert np.allclose(answers.best[~reached], answers.margin[~reached], rtol=0, atol=1e-8)
        assert (answers.best[~reached] < problem.required + 1e-8).all()


@settings(max_examples=60)
@given(seed=seeds, p=st.sampled_from(NORMS))
def test_a_larger_radius_is_never_cheaper(seed: int, p: float) -> None:
    problem = drawn(seed, p, people=3)
    prices = []
    for radius in (0.0, 0.05, 0.2, 1.0):
        robust = RobustLinear(problem.robust.weights, problem.robust.bias, LpBall(radius, p), problem.robust.cost)
        prices.append(robust.price(problem.people, problem.rules, problem.trade).objective)
    assert (np.diff(prices, axis=0) >= -1e-10).all()


@settings(max_examples=60)
@given(seed=seeds, p=st.sampled_from(NORMS))
def test_permuted_columns_permute_the_answer(seed: int, p: float) -> None:
    problem = drawn(seed, p)
    d = problem.people.shape[1]
    order = np.random.default_rng(seed).permutation(d)
    low, high = (np.broadcast_to(end, (1, d))[:, order] for end in problem.rules[:2])
    mixed = RobustLinear(
        problem.robust.weights[order], problem.robust.bias, problem.robust.ball, problem.robust.cost[order]
    )
    ours = problem.robust.price(problem.people, problem.rules, problem.trade)
    theirs = mixed.price(problem.people[:, order], Rules(low, high), problem.trade)
    assert np.allclose(ours.objective, theirs.objective, rtol=0, atol=1e-10)
    assert np.allclose(ours.margin, theirs.margin, rtol=0, atol=1e-4)


@settings(max_examples=30)
@given(seed=seeds, p=st.sampled_from(NORMS))
def test_a_person_in_a_batch_gets_the_same_bits_as_alone(seed: int, p: float) -> None:
    problem = drawn(seed, p, people=6)
    low, high = (np.broadcast_to(end, problem.people.shape) for end in problem.rules[:2])
    for solve, aim in ((problem.robust.price, problem.trade), (problem.robust.least_cost, problem.required)):
        together = solve(problem.people, problem.rules, aim)
        alone = solve(problem.people[3:4], Rules(low[3:4], high[3:4]), aim)
        for one, other in zip(together, alone, strict=True):
            assert one[3:4].tobytes() == other.tobytes()


@settings(max_examples=40)
@given(seed=seeds)
def test_without_a_radius_it_is_the_knapsack(seed: int) -> None:
    random = np.random.default_rng(seed)
    weights, difficulty = random.normal(0, 3, 5), random.uniform(0.1, 1, 5)
    people = random.uniform(0, 1, (20, 5))
    line = LogisticScore(weights, float(random.normal(-1, 1)))
    robust = RobustLinear(weights, line.bias, LpBall(0.0, 2), difficulty)
    ours = robust.least_cost(people, Rules(np.zeros(5), np.ones(5)), math.log(0.7 / 0.3))
    plans = MinimalL1(difficulty).recommend(line, people, np.full(20, 0.7), Bounds(np.zeros(1), np.ones(1)))
    assert ours.reached.tolist() == plans.reached.tolist()
    spent = np.abs(plans.targets - people) @ difficulty
    assert np.allclose(ours.cost[ours.reached], spent[ours.reached], rtol=0, atol=1e-8)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
def test_steps_and_one_hot_groups_give_the_best_of_all_points(p: float) -> None:
    for seed in range(25):
        random = np.random.default_rng(seed)
        cost = np.exp(0.5 * random.normal(size=7))
        robust = RobustLinear(random.normal(0, 3, 7), random.normal() - 1.5, LpBall(random.choice([0.1, 0.5]), p), cost)
        groups = (np.array([2, 3, 4]), np.array([5, 6]))
        own = np.r_[random.integers(0, 6, 2) / 5, np.eye(3)[random.integers(3)], np.eye(2)[random.integers(2)]]
        highest = np.where((np.arange(7) == 4) & (own[4] == 0), 0.0, 1.0)  # one category is closed
        lowest = np.r_[own[0], np.zeros(6)]  # the first column only rises
        numbers = [own[0] + 0.2 * k for k in range(6) if own[0] + 0.2 * k < 1.001], np.arange(6) / 5
        rows = np.array([[*x, *a, *b] for *x, a, b in product(*numbers, np.eye(3), np.eye(2))])
        rows = rows[(rows <= highest + 1e-9).all(axis=1)]
        spent, margin = np.abs(rows - own) @ cost, robust.margin(rows)
        rules = Rules(lowest, highest, np.r_[0.2, 0.2, np.zeros(5)], groups)
        price = robust.price(own[np.newaxis], rules, 0.1)
        assert price.objective[0] == pytest.approx((np.logaddexp(0, -margin) + 0.1 * spent).min(), abs=1e-9)
        assert price.gap[0] < 1e-8
        hard = robust.least_cost(own[np.newaxis], rules, 0.5)
        assert hard.reached[0] == (margin >= 0.5).any()
        if hard.reached[0]:
            assert hard.cost[0] == pytest.approx(spent[margin >= 0.5].min(), abs=1e-9)


def test_faults_are_answers() -> None:
    robust = RobustLinear(np.array([1.0, 1.0, 1.0]), -5.0, LpBall(0.1, 2))
    people = np.array([[0.5, 0, 1], [0.5, 1, 1], [2, 0, 1], [0.5, 0, 1], [np.nan, 0, 1]])
    lowest = np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0], [0.9, 0, 0], [0, 0, 0]])
    highest = np.where(np.arange(5)[:, np.newaxis] == 3, 0.8, 1.0)
    answers = robust.least_cost(people, Rules(lowest, highest, groups=(np.array([1, 2]),)), 0.0)
    faults = [Status.OUT_OF_REACH, Status.NOT_ONE_HOT, Status.OUTSIDE, Status.CONTRADICTION, Status.NOT_FINITE]
    assert answers.status.tolist() == faults
    assert answers.best[0] < 0
    assert not answers.reached.any()
    assert np.isinf(answers.gap).all()


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="radius is -1"):
        LpBall(-1.0)
    with pytest.raises(ValueError, match=r"p is 0\.5"):
        LpBall(1.0, 0.5)
    with pytest.raises(ValueError, match="cost"):
        RobustLinear(np.ones(2), 0.0, LpBall(0.1), np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="trade"):
        RobustLinear(np.ones(2), 0.0, LpBall(0.1)).price(np.zeros((1, 2)), Rules(np.zeros(2), np.ones(2)), 0.0)


@pytest.mark.parametrize(
    ("people", "rules", "problem"),
    [
        (np.zeros((1, 3)), Rules(np.zeros(3), np.ones(3)), "people have the shape"),
        (np.zeros((1, 2)), Rules(np.zeros(2), np.ones(2), step=np.array([-1.0, 0.0])), "step is"),
        (np.zeros((1, 2)), Rules(np.zeros(2), np.ones(2), groups=(np.array([1, 2]),)), "is not of columns 0 to 1"),
    ],
)
def test_people_and_rules_that_do_not_fit_the_score_are_refused(people, rules, problem):
    with pytest.raises(ValueError, match=problem):
        RobustLinear(np.array([2.0, 1.0]), -2.0, LpBall(0.1, 2)).least_cost(people, rules, 0.0)


def test_a_score_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="give finite numbers"):
        RobustLinear(np.array([1.0, np.nan]), 0.0, LpBall(0.1, 2))
