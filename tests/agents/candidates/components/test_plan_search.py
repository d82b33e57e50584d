"""Plans are the cheapest that there are: what the search finds is what all sequences of steps contain."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations, product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.candidates.components.lattice import FeatureLevels, Lattice, lattice_of
from onward.agents.candidates.components.plan_order import (
    cheapest_order,
    costs_in_order,
    least_costs,
    lower_bounds,
)
from onward.agents.candidates.components.plan_search import Plans, SearchBudget, find_plans
from onward.agents.candidates.components.plan_tables import PlanTables, additive_tables, plan_costs, plan_tables
from onward.agents.costs.causal import CostStructure

BUDGET = SearchBudget(steps=4, changes=3, rows=10**6)
FEATURES, EDGES = 5, ((0, 1), (1, 2), (0, 2), (3, 2), (4, 0))
seeds = given(seed=st.integers(0, 2**32))
quickly = settings(max_examples=40, deadline=None)


class Case(NamedTuple):
    """A small lattice with all kinds of levels, weights, and log odds that mix features."""

    lattice: Lattice
    structure: CostStructure
    weights: np.ndarray
    log_odds: np.ndarray

    @property
    def tables(self) -> PlanTables:
        return plan_tables(self.structure, self.lattice, self.weights)

    def score(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = self.log_odds[tuple((levels - self.lattice.first[:-1]).T)]
        return found, found > 0.0

    def found(self, budget: SearchBudget = BUDGET) -> Plans:
        return find_plans(self.lattice, self.tables, self.score, budget)


def case(seed: int, samples: int = 2) -> Case:
    random = np.random.default_rng(seed)
    own = random.random(FEATURES)
    own[3] = 1.0

    def levels(feature: int, steps: list[int]) -> FeatureLevels:
        direction = random.choice([-1.0, 1.0], (len(steps), 1))
        path = own[feature] + direction * random.random((len(steps), max(steps))).cumsum(axis=1)
        return FeatureLevels(own[feature], np.array(steps), path)

    number, other, last = levels(0, [1, 2, 2]), levels(1, [1, 1]), levels(2, [1, 2])
    category = FeatureLevels(1.0, np.array([1, 1, 1]), np.ones((3, 1)), category=True)
    lattice = lattice_of([0, 1, 2, 3], [number, other, last, category], own)
    weights = random.normal(0.0, 5.0, (samples, FEATURES + len(EDGES)))
    log_odds = random.normal(-1.0, 1.0, (4, 3, 3, 4))
    return Case(lattice, CostStructure(FEATURES, EDGES), weights, log_odds)


def targets(drawn: Case) -> Iterator[np.ndarray]:
    """All valid targets within the limits."""
    first = drawn.lattice.first
    for level in product(*(range(start, stop) for start, stop in pairwise(first))):
        target = np.array(level)
        steps = drawn.lattice.steps[target]
        if 0 < steps.sum() <= BUDGET.steps and (steps > 0).sum() <= BUDGET.changes:
            yield target


def orders(lattice: Lattice, target: np.ndarray) -> set[tuple[int, ...]]:
    return set(permutations(np.repeat(np.arange(len(target)), lattice.steps[target]).tolist()))


def cost(drawn: Case, target: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """The formula, step by step."""
    lattice, structure = drawn.lattice, drawn.structure
    values, done, total = lattice.own.copy(), [0] * len(target), np.full(len(drawn.weights), structure.stop)
    for m in order:
        feature, level = int(lattice.features[m]), target[m]
        each = drawn.weights[:, feature] * lattice.size[level, done[m]]
        for at, (parent, child) in enumerate(EDGES):
            if child == feature:
                each = each + drawn.weights[:, FEATURES + at] * (1.0 + values[parent])
        total = total + np.maximum(structure.floor, each)
        values[feature] = lattice.path[level, done[m]]
        done[m] += 1
    return total


@seeds
@quickly
def test_the_cheapest_plan_of_all_sequences_is_found_for_each_sample(seed: int) -> None:
    drawn = case(seed)
    valid = [target for target in targets(drawn) if drawn.score(target[np.newaxis])[1][0]]
    found = drawn.found()
    assert bool(len(found.levels)) == bool(valid)
    if valid:
        every = [cost(drawn, target, order) for target in valid for order in orders(drawn.lattice, target)]
        np.testing.assert_allclose(found.costs.min(axis=0), np.min(every, axis=0))
        assert found.proven


@seeds
@quickly
def test_plans_are_valid_and_cost_what_the_formula_says(seed: int) -> None:
    drawn = case(seed)
    found = drawn.found()
    assert drawn.score(found.levels)[1].all()
    for levels, order, costs in zip(found.levels, found.order, found.costs, strict=True):
        steps = tuple(order[order >= 0].tolist())
        assert steps in orders(drawn.lattice, levels)
        np.testing.assert_allclose(cost(drawn, levels, steps), costs)
    if len(found.levels):
        any_weights = plan_costs(drawn.structure, drawn.lattice, found.levels, found.order)
        np.testing.assert_allclose(any_weights.totals(drawn.weights), found.costs)


@seeds
@quickly
def test_what_a_target_costs_at_least_is_no_more_than_in_any_order(seed: int) -> None:
    drawn = case(seed)
    rows = np.array(list(targets(drawn)))
    levels = drawn.lattice.levels
    lower = lower_bounds(rows, levels, drawn.tables)
    least = least_costs(rows, BUDGET.steps, levels, drawn.tables)
    for target, bound, found in zip(rows, lower, least, strict=True):
        every = np.array([cost(drawn, target, order) for order in orders(drawn.lattice, target)])
        assert (bound <= every.min(axis=0) + 1e-9).all()
        np.testing.assert_allclose(found, every.min(axis=0))


@seeds
@quickly
def test_steps_are_in_the_order_that_is_expected_to_cost_least(seed: int) -> None:
    drawn = case(seed, samples=3)
    target = max(targets(drawn), key=lambda target: drawn.lattice.steps[target].sum())
    levels, probability = drawn.lattice.levels, np.array([0.2, 0.5, 0.3])
    order = np.empty((1, BUDGET.steps), np.intp)
    cheapest_order(target, levels, drawn.tables, probability, order[0])
    expected = costs_in_order(target[np.newaxis], order, levels, drawn.tables)[0] @ probability
    every = [cost(drawn, target, each) @ probability for each in orders(drawn.lattice, target)]
    assert expected == pytest.approx(min(every))


@seeds
@quickly
def test_few_targets_at_once_and_few_partial_ones_find_the_same(seed: int) -> None:
    drawn = case(seed)
    whole = drawn.found().costs.min(axis=0, initial=np.inf)
    for passes in (BUDGET.passes, 1):
        small = drawn.found(BUDGET._replace(targets=16, partial=40, passes=passes))
        least = small.costs.min(axis=0, initial=np.inf)
        if small.proven:
            np.testing.assert_allclose(least, whole)
        assert (least >= whole - 1e-9).all()


def test_one_pass_over_many_targets_proves_nothing() -> None:
    proven = [case(seed).found(BUDGET._replace(targets=2, partial=4, passes=1)).proven for seed in range(20)]
    assert not all(proven)
    assert all(case(seed).found(BUDGET._replace(targets=2, partial=4)).proven >= proven[seed] for seed in range(20))


def test_no_more_is_scored_than_the_budget_allows() -> None:
    for seed in range(20):
        found = case(seed).found(BUDGET._replace(rows=30))
        assert found.rows <= 30 + 48, "a portion is finished"
        assert not found.proven or found.rows < 30


def test_tables_of_single_steps_have_the_order_that_is_compiled_whatever_that_of_their_costs() -> None:
    one_step = FeatureLevels(0.5, np.array([1, 1]), np.array([[0.2], [0.9]]))
    lattice = lattice_of([0], [one_step], np.full(1, 0.5))
    costs = np.asfortranarray(np.ones((len(lattice.steps), 2)))
    assert additive_tables(lattice, costs).alone.flags.c_contiguous
