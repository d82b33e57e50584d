"""Plans of a program: their steps keep the rules, and targets of any generator are reached at least cost."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.candidates import Space
from onward.agents.candidates.components.grid import Grid
from onward.agents.candidates.components.plan_levels import plan_levels
from onward.agents.candidates.plans import PersonPlans, PlanGenerator, cheapest_steps, costs_of_targets
from onward.agents.candidates.search import Search
from onward.agents.costs import L1, Columns, MixedCost
from onward.agents.costs.causal import Causal, CostStructure
from onward.agents.costs.mixture import GaussianMixture
from onward.agents.costs.prior import prior_of
from onward.agents.goals import ThresholdGoal
from onward.agents.improvement import Improvement
from onward.agents.objective import Objective
from onward.testing.spaces import scaled_space

FEATURE_OF = np.array([0, 1, 2, 2, 3])
STEP, LARGEST = 0.125, 0.25
EDGES = ((0, 1), (1, 3), (2, 0))
GOAL = ThresholdGoal(0.5)


def space() -> Space:
    """Two numbers, two categories, and a number that moves by at most ``LARGEST`` a step."""
    found = scaled_space(FEATURE_OF, ("any",) * 4, np.array([STEP, STEP, 0.0, STEP]))
    return found._replace(largest_step=np.array([np.inf, np.inf, np.inf, LARGEST]))


def causal(seed: int) -> Causal:
    random = np.random.default_rng(seed)
    means = random.uniform(0.5, 9.0, (3, 4 + len(EDGES)))
    structure = CostStructure(4, EDGES, floor=0.1, stop=1.0)
    return Causal(Columns(FEATURE_OF, np.full(4, True)), structure, GaussianMixture(np.ones(3) / 3, means, 0.0 * means))


def score(rows: np.ndarray) -> np.ndarray:
    odds = 3.0 * rows[:, 0] + 2.0 * rows[:, 1] * rows[:, 3] + rows[:, 2] + 2.5 * rows[:, 4] - 4.0
    return 1.0 / (1.0 + np.exp(-odds))


def person(seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    found = random.integers(0, 5, 5) / 8
    found[2:4] = random.permutation([1.0, 0.0])
    return found


class Helps(Improvement):
    """The last feature alone helps."""

    def log_odds(self, after: np.ndarray, before: np.ndarray) -> np.ndarray:
        return 4.0 * (after[:, 4] - before[:, 4]) - 1.0


NU = 0.25
HELPING: tuple[Improvement | None, ...] = (None, Helps())


def generator(seed: int, helps: Improvement | None = None) -> PlanGenerator:
    return PlanGenerator(space(), Objective(causal(seed), NU, helps), score, GOAL)


def changed(before: np.ndarray, after: np.ndarray) -> list[int]:
    return sorted(set(FEATURE_OF[before != after].tolist()))


quickly = settings(max_examples=25, deadline=None)
seeds = given(seed=st.integers(0, 2**32))


@quickly
@given(seed=st.integers(0, 2**32), helps=st.sampled_from(HELPING))
def test_each_step_changes_one_feature_by_no_more_than_its_largest_step(seed: int, helps: Improvement | None) -> None:
    own = person(seed)
    if GOAL.reached(score(own[np.newaxis]))[0]:
        return
    found = generator(seed, helps).plans(own)
    assert len(found.arm)
    assert GOAL.reached(score(found.targets)).all()
    for plan, target in enumerate(found.targets):
        rows = np.concatenate([own[np.newaxis], found.rows_after(plan)])
        assert (rows[-1] == target).all()
        for before, after in pairwise(rows):
            [feature] = changed(before, after)
            assert feature != 3 or abs(after[4] - before[4]) <= LARGEST + 1e-9


@quickly
@seeds
def test_the_best_plan_that_helps_is_no_worse_than_the_best_option_of_the_search(seed: int) -> None:
    own, plans = person(seed), generator(seed, Helps())
    if GOAL.reached(score(own[np.newaxis]))[0]:
        return
    found, search = plans.plans(own), Search(space(), Objective(causal(seed), NU, Helps()), score, GOAL)
    worth = np.exp(-NU * plans.pool_of(found).losses(found.cost[:, np.newaxis])[:, 0])
    assert worth == pytest.approx(np.exp(-NU * found.cost) * Helps()(found.targets, own[np.newaxis]))
    options = [row for row in search.propose(own[np.newaxis]).points if np.abs(row - own)[4] <= 3 * LARGEST]
    for target in options:
        cost = cheapest_steps(space(), causal(seed), own, target).cost.sum()
        cost += causal(seed).structure.stop
        assert worth.max() >= np.exp(-NU * cost) * Helps()(target[np.newaxis], own[np.newaxis])[0] - 1e-9


@quickly
@seeds
def test_options_of_a_sampled_cost_count_by_its_cap_where_a_sample_rules_them_out(seed: int) -> None:
    random, own = np.random.default_rng(seed), person(seed)
    cost = MixedCost(Columns(FEATURE_OF, np.full(4, True)), random.random((50, 5)), 40, seed % 1000)
    found = PlanGenerator(space(), Objective(cost, NU, Helps()), score, GOAL).plans(own)
    assert (found.cost <= cost.cap).all()


@quickly
@given(seed=st.integers(0, 2**32), helps=st.sampled_from(HELPING))
def test_a_plan_of_the_pool_costs_what_its_steps_cost(seed: int, helps: Improvement | None) -> None:
    own, plans = person(seed), generator(seed, helps)
    found = plans.plans(own)
    costs = plans.pool_of(found).costs.totals(causal(seed).prior.means)
    np.testing.assert_allclose(costs.mean(axis=1), found.cost)
    for plan, cost in enumerate(costs):
        np.testing.assert_allclose(_cost_of(own, found, plan, causal(seed)), cost)


def _cost_of(own: np.ndarray, found: PersonPlans, plan: int, cost: Causal) -> np.ndarray:
    steps, before = [], own
    for after in found.rows_after(plan):
        [feature] = changed(before, after)
        steps.append((feature, before, after))
        before = after
    total = np.full(3, cost.structure.stop)
    for feature, before, after in steps:
        values = np.array([before[0], before[1], 1.0, before[4]])
        size = 1.0 if feature == 2 else abs(after - before).sum()
        phi = cost.structure.coefficients(np.array([feature]), np.array([size]), values[np.newaxis])[0]
        total += np.maximum(cost.structure.floor, cost.prior.means @ phi)
    return total


@quickly
@seeds
def test_the_changes_of_another_generator_s_option_are_made_in_the_cheapest_order(seed: int) -> None:
    own, cost = person(seed), causal(seed)
    proposals = Search(space(), Objective(cost), score, GOAL).propose(own[np.newaxis])
    for target in proposals.points:
        steps = cheapest_steps(space(), cost, own, target)
        assert (steps.rows[-1] == target).all()
        assert set(steps.feature.tolist()) == set(changed(own, target))
        assert steps.cost.sum() == pytest.approx(_cheapest_of_all_orders(own, target, steps.feature, cost))


def _cheapest_of_all_orders(own: np.ndarray, target: np.ndarray, features: np.ndarray, cost: Causal) -> float:
    """The mean cost of steps of equal sizes in the cheapest order."""
    counts = {feature: int((features == feature).sum()) for feature in features.tolist()}
    column = {0: 0, 1: 1, 3: 4}
    least = np.inf
    for order in set(permutations(features.tolist())):
        state, total = own.copy(), 0.0
        for feature in order:
            values, size = np.array([state[0], state[1], 1.0, state[4]]), 1.0
            if feature == 2:
                state[2:4] = target[2:4]
            else:
                move = (target - own)[column[feature]] / counts[feature]
                state[column[feature]] += move
                size = abs(move)
            phi = cost.structure.coefficients(np.array([feature]), np.array([size]), values[np.newaxis])[0]
            total += float(np.maximum(cost.structure.floor, cost.prior.means @ phi).mean())
        least = min(least, total)
    return least


@quickly
@seeds
def test_targets_cost_what_the_steps_to_them_cost(seed: int) -> None:
    own, cost = person(seed), causal(seed)
    targets = Search(space(), Objective(L1()), score, GOAL).propose(own[np.newaxis]).points
    if not len(targets):
        return
    found = costs_of_targets(space(), cost, own, targets).totals(cost.prior.means).mean(axis=1)
    steps = [cheapest_steps(space(), cost, own, target).cost.sum() for target in targets]
    np.testing.assert_allclose(found, np.array(steps) + cost.structure.stop)


def test_a_number_can_fall_as_well_as_rise() -> None:
    own = np.array([0.5, 0.5, 1.0, 0.0, 0.5])
    levels = plan_levels(space(), Grid(space()), own, longest=5)
    for m in (0, 1, 3):
        reached = levels.blocks[m][:, -1, 0]
        assert reached.min() == pytest.approx(0.0)
        assert reached.max() == pytest.approx(1.0)


def test_where_the_cost_is_the_same_for_everybody_there_is_nothing_to_ask() -> None:
    plans = PlanGenerator(space(), Objective(L1()), score, GOAL)
    with pytest.raises(ValueError, match="is the same for everybody"):
        plans.pool(person(1))
    with pytest.raises(ValueError, match="is the same for everybody"):
        prior_of(L1())
