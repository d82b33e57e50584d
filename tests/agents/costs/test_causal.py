"""Costs that depend on the order of steps: held against every order, and against draws of the prior."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.costs.causal import Causal, CostStructure
from onward.agents.costs.causal_pairs import MOST_ORDERED
from onward.agents.costs.contract import Columns
from onward.agents.costs.mixture import GaussianMixture

FEATURES, EDGES = 4, ((0, 1), (1, 2), (0, 2), (3, 2))
COLUMNS = Columns(np.array([0, 1, 2, 3, 3]), np.full(FEATURES, True))
"""Three numbers and a feature of two categories."""
NAMED = np.array([0, 1, 2, 3])


def prior(random: np.random.Generator, sd: float) -> GaussianMixture:
    means = random.normal(3.0, 4.0, (2, FEATURES + len(EDGES)))
    return GaussianMixture(np.array([0.3, 0.7]), means, np.full_like(means, sd))


def values(row: np.ndarray) -> np.ndarray:
    return np.append(row[:3], 1.0)


def every_order(structure: CostStructure, person: np.ndarray, target: np.ndarray, weights: np.ndarray) -> list[float]:
    """The mean cost over weights (S, P) of every order of the changes, by the formula of a step."""
    changed = [feature for feature in range(3) if person[feature] != target[feature]]
    changed += [3] if (person[3:] != target[3:]).any() else []
    found = []
    for order in permutations(changed):
        state, total = values(person), np.full(len(weights), structure.stop)
        for feature in order:
            change = 1.0 if feature == 3 else abs(target[feature] - person[feature])
            each = weights[:, feature] * change
            for at, (parent, child) in enumerate(EDGES):
                each = each + (child == feature) * weights[:, FEATURES + at] * (1.0 + state[parent])
            total = total + np.maximum(structure.floor, each)
            state[feature] = values(target)[feature]
        found.append(float(total.mean()))
    return found


def pair(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    person, target = random.random((2, 5))
    person[3:], target[3:] = [1.0, 0.0], random.permutation([1.0, 0.0])
    stays = random.random(3) < 0.3
    target[:3] = np.where(stays, person[:3], target[:3])
    return person, target


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_change_costs_what_its_cheapest_order_does(seed: int) -> None:
    random, structure = np.random.default_rng(seed), CostStructure(FEATURES, EDGES)
    person, target = pair(random)
    if (person == target).all():
        return
    mixture = prior(random, 0.0)
    weights = mixture.means[np.repeat([0, 1], [3, 7])]
    cost = Causal(COLUMNS, structure, mixture)(target[np.newaxis], person[np.newaxis]).item()
    assert cost == pytest.approx(min(every_order(structure, person, target, weights)))


def test_the_expectation_is_that_of_the_cost_and_not_the_cost_of_the_expectation() -> None:
    random, structure = np.random.default_rng(5), CostStructure(FEATURES, EDGES)
    person, target = pair(random)
    mixture = prior(random, 3.0)
    kind = random.choice(2, 200_000, p=mixture.mass)
    drawn = mixture.weights(kind, random.standard_normal((len(kind), mixture.latents)))
    cost = Causal(COLUMNS, structure, mixture)(target[np.newaxis], person[np.newaxis]).item()
    assert cost == pytest.approx(min(every_order(structure, person, target, drawn)), rel=0.01)
    assert cost > 1.05 * min(every_order(structure, person, target, mixture.mean[np.newaxis]))


def test_of_many_changes_the_cheapest_next_one_is_taken() -> None:
    count = MOST_ORDERED + 1
    chain = CostStructure(count, list(pairwise(range(count))), floor=0.0, offset=0.0, stop=0.0)
    weights = np.ones((1, chain.parameters))
    columns = Columns(np.arange(count), np.full(count, True))
    cost = Causal(columns, chain, GaussianMixture(np.ones(1), weights, 0.0 * weights))
    lowered, raised = cost(np.array([np.zeros(count), np.ones(count)]), np.full((1, count), 0.5))[0]
    assert lowered == pytest.approx(count * 0.5), "each feature is changed after the one that makes it dearer fell"
    assert count * 0.5 + (count - 1) * 0.5 <= raised < count * 0.5 + (count - 1) * 1.0, "the worst order is forward"


@pytest.mark.parametrize(
    ("edges", "line"),
    [
        ([(0, 1), (1, 2), (2, 0)], "in a cycle"),
        ([(0, 3)], "names no feature"),
        ([(-1, 0)], "names no feature"),
        ([(1, 1)], "influences itself"),
        ([(0, 1), (0, 1)], "stands twice"),
    ],
)
def test_a_graph_that_is_none_is_refused(edges: list[tuple[int, int]], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        CostStructure(3, edges)


def test_a_prior_of_the_wrong_size_is_refused() -> None:
    structure = CostStructure(FEATURES, EDGES)
    few = GaussianMixture(np.ones(1), np.ones((1, 3)), np.ones((1, 3)))
    with pytest.raises(ValueError, match="the prior has 3 weights: the features and influences need 8"):
        Causal(COLUMNS, structure, few)


@pytest.mark.parametrize(
    ("mass", "mean", "sd", "line"),
    [
        (1.0, 1.0, -1.0, "negative standard deviation"),
        (0.5, 1.0, 0.5, "with a sum of 1"),
        (1.0, float("nan"), 0.5, "not finite"),
    ],
)
def test_numbers_that_are_no_prior_are_refused(mass: float, mean: float, sd: float, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        GaussianMixture(np.array([mass]), np.array([[mean, 2.0]]), np.array([[sd, 0.5]]))
