"""People with hidden costs: the costs are those of the documented formula, and people take what suits them."""

from __future__ import annotations

import numpy as np
import pytest

from onward.agents.costs import Columns, MixedCost
from onward.agents.costs.causal import Causal, CostStructure
from onward.agents.costs.mixture import GaussianMixture
from onward.environments.truth.preferences import EASY, HARD, HiddenCosts, HiddenWeights, shares_of

COLUMNS = Columns(np.array([0, 1, 2, 2]), np.array([True, True, True]))


def hidden(people: int = 400, shares: tuple[float, ...] = (1.0, 1.0, 1.0)) -> HiddenCosts:
    population = np.random.default_rng(0).random((100, 4))
    cost = MixedCost(COLUMNS, population, samples=3, seed=0)
    random = np.random.default_rng(1)
    return HiddenCosts(cost, random.random((people, len(shares))) < np.array(shares), random)


def test_a_cost_is_between_nothing_and_the_number_of_changes_and_adds_up_over_features() -> None:
    costs, who = hidden(), np.arange(400)
    person = np.tile([0.2, 0.5, 1.0, 0.0], (400, 1))
    first, second, both = person.copy(), person.copy(), person.copy()
    first[:, 0] = both[:, 0] = 0.9
    second[:, 2:] = both[:, 2:] = [0.0, 1.0]
    one, other, sum_ = (costs.of_pairs(who, person, target) for target in (first, second, both))
    assert ((one >= 0.0) & (one <= 1.0) & (other >= 0.0) & (other <= 1.0)).all()
    assert sum_ == pytest.approx(one + other)
    assert (costs.of_pairs(who, person, person) == 0.0).all()


def test_who_cannot_change_a_feature_cannot_be_offered_it() -> None:
    person = np.tile([0.2, 0.5, 1.0, 0.0], (4000, 1))
    target = person.copy()
    target[:, 1] = 0.8
    costs = hidden(4000, (1.0, 0.25, 0.0)).of_pairs(np.arange(4000), person, target)
    assert np.isfinite(costs).mean() == pytest.approx(0.25, abs=0.03)


def test_a_third_of_the_movable_features_is_easy() -> None:
    shares = shares_of(np.array([True] * 12 + [False]), np.random.default_rng(3))
    assert sorted(shares.tolist()) == [0.0, *[HARD] * 8, *[EASY] * 4]


def test_weights_are_drawn_from_the_prior_and_changes_are_made_in_the_cheapest_order() -> None:
    """The second feature is easier to change while the first is low: the order counts, whatever a person's weights."""
    columns, structure = Columns(np.arange(2), np.array([True, True])), CostStructure(2, [(0, 1)], floor=0.0, stop=0.0)
    prior = GaussianMixture(np.array([0.75, 0.25]), np.array([[1.0, 1.0, 2.0], [5.0, 1.0, 2.0]]), np.zeros((2, 3)))
    weights = HiddenWeights(Causal(columns, structure, prior), 4000, np.random.default_rng(1))
    who, person = np.arange(4000), np.zeros((4000, 2))
    first = weights.of_pairs(who, person, np.tile([1.0, 0.0], (4000, 1)))
    both = weights.of_pairs(who, person, np.ones((4000, 2)))
    assert set(first) == {1.0, 5.0}
    assert (first == 1.0).mean() == pytest.approx(0.75, abs=0.03)
    assert both == pytest.approx(first + 1.0 + 2.0)
    assert weights.of_pairs(who[::-1], person, np.tile([1.0, 0.0], (4000, 1))) == pytest.approx(first[::-1])
