"""Options that are to help: the best of each set of features, in round numbers, and none that nobody needs."""

from __future__ import annotations

import numpy as np
import pytest

from onward.agents.candidates.components.targets import LEAST_GAIN, MUCH_NEARER
from onward.agents.candidates.contract import Ranges, Space
from onward.agents.candidates.search import Search
from onward.agents.costs import L1
from onward.agents.goals import ThresholdGoal
from onward.agents.improvement import Improvement
from onward.agents.objective import Objective
from onward.testing.spaces import scaled_space

NONE = np.zeros((0, 3))


class Linear(Improvement):
    """Log odds that are a sum over the columns."""

    name = "linear"

    def __init__(self, *weights: float, bias: float = -3.0) -> None:
        self._weights, self._bias = np.array(weights), bias

    @property
    def columns(self) -> int:
        return len(self._weights)

    @property
    def is_flat(self) -> bool:
        return not self._weights.any()

    def log_odds(self, after: np.ndarray, before: np.ndarray) -> np.ndarray:
        return after @ self._weights + self._bias


def search(space: Space, helps: Improvement, nu: float = 0.5, **parameters: float) -> Search:
    """Everybody above 0.4 in the mean is accepted."""
    objective = Objective(L1(), nu, helps)
    return Search.build(space, NONE, objective, **parameters).under(lambda X: X.mean(axis=1), ThresholdGoal(0.4))


def free(most: int | None = None) -> Space:
    return scaled_space(np.arange(3), ("any",) * 3, np.full(3, 0.01), most)


def shortfall(random: np.random.Generator, helps: Linear, nu: float, most: int) -> float:
    """How far the best option is below the best of all targets of a coarse grid, in the logarithm of the chance."""
    space = scaled_space(np.arange(helps.columns), ("any",) * helps.columns, np.full(helps.columns, 0.1), most)
    person = np.round(random.uniform(0.0, 0.3, helps.columns), 1)
    found = search(space, helps, nu).propose(person[np.newaxis])
    values = np.round(np.linspace(0.0, 1.0, 11), 1)
    every = np.stack(np.meshgrid(*[values] * helps.columns), axis=-1).reshape(-1, helps.columns)
    changes = (np.abs(every - person) > 1e-9).sum(axis=1)
    every = every[(changes > 0) & (changes <= most) & (every.mean(axis=1) > 0.4)]
    harmless = helps.log_odds(every, every) >= helps.log_odds(person, person)
    every = every[harmless] if harmless.any() else every
    return float(value(every, person, helps, nu).max() - value(found.points, person, helps, nu).max())


def value(rows: np.ndarray, person: np.ndarray, helps: Improvement, nu: float) -> np.ndarray:
    return Objective(L1(), nu, helps).value(helps.log_odds(rows, rows), np.abs(rows - person).sum(axis=1))


def test_the_best_option_is_nearly_that_of_all_targets() -> None:
    """40 fixed seeds: the search looks at some of the targets only."""
    random = np.random.default_rng(0)
    gaps = np.array(
        [
            shortfall(random, Linear(*random.uniform(-2.0, 6.0, 3)), float(random.choice([0.3, 1.0, 3.0])), 2)
            for _ in range(40)
        ]
    )
    assert (gaps > 0.02).sum() <= 2
    assert gaps.max() < 0.2


def test_nobody_is_told_what_makes_the_wanted_outcome_less_probable_if_something_else_does_not() -> None:
    """The model rewards the first column most easily, which the labels speak against."""
    person, helps = np.array([[0.4, 0.1, 0.3]]), Linear(-1.0, 0.5, 0.0, bias=1.0)
    options = search(free(1), helps, nu=3.0).propose(person).points
    assert len(options)
    assert (helps.log_odds(options, options) >= helps.log_odds(person, person)).all()
    only_harm = search(free(1), Linear(-1.0, -1.0, -1.0), nu=3.0).propose(person).points
    assert len(only_harm)


def test_the_best_pairs_and_not_the_cheapest_are_extended_by_a_third_change() -> None:
    """30 fixed seeds. Where little is needed, the cheapest pairs are tiny."""
    random = np.random.default_rng(1)
    for _ in range(30):
        helps = Linear(*random.uniform(0.0, 6.0, 4), bias=random.uniform(-12.0, -8.0))
        assert shortfall(random, helps, float(random.choice([1.0, 2.0])), 3) < 0.02


def test_far_moves_of_which_none_alone_does_anything_are_combined() -> None:
    """Both features must be high, and neither helps: alone, a far move is no better than a near one."""
    space, person = free(), np.array([[0.2, 0.2, 0.2]])
    generator = Search.build(space, NONE, Objective(L1(), 0.5, Linear(0.0, 0.0, 4.0)))
    both_high = generator.under(lambda X: (X[:, :2] > 0.95).all(axis=1).astype(float), ThresholdGoal(0.4))
    assert (both_high.propose(person).points[:, :2] > 0.95).all()
    assert len(both_high.propose(person).points)


def test_no_change_of_an_option_is_left_out_without_loss() -> None:
    """60 fixed seeds, near options among them."""
    random, compared = np.random.default_rng(0), 0
    for _ in range(60):
        helps = Linear(*random.uniform(0.0, 12.0, 3), bias=random.uniform(-12.0, -6.0))
        person = random.uniform(0.35, 0.4, 3).round(2)
        points = search(free(), helps, 1.0).propose(person[np.newaxis]).points
        for option in points:
            without = np.where(np.eye(3, dtype=bool), person, option)
            parts = without[(option != person) & (without != person).any(axis=1) & (without.mean(axis=1) > 0.4)]
            worth = value(option[np.newaxis], person, helps, 1.0) - LEAST_GAIN
            assert (value(parts, person, helps, 1.0) < worth).all()
            compared += len(parts)
    assert compared > 20


def test_targets_are_round_numbers_whatever_a_person_has() -> None:
    space = free()._replace(
        smallest_change=np.array([0.05, 0.0, 0.0]), digits=(4, 4, 4), ranges=Ranges.from_bounds(np.zeros(3), np.ones(3))
    )
    person = np.array([0.1234, 0.2345, 0.0])
    points = search(space, Linear(4.0, 3.0, 2.0)).propose(person[np.newaxis]).points
    changed = np.where(points != person, points, 0.0)
    assert len(points)
    np.testing.assert_allclose(changed[:, 0] / 0.05, np.rint(changed[:, 0] / 0.05), atol=1e-6)
    np.testing.assert_allclose(changed[:, 1:] / 0.01, np.rint(changed[:, 1:] / 0.01), atol=1e-6)


def test_no_option_costs_more_than_the_best_one_so_many_times() -> None:
    person = np.array([[0.35, 0.35, 0.35]])
    for dearest in (1.01, 3.0):
        found = search(free(), Linear(6.0, 1.0, 0.5), 1.0, dearest=dearest).propose(person)
        costs = np.abs(found.points - person).sum(axis=1)
        value = Linear(6.0, 1.0, 0.5)(found.points, found.points) * np.exp(-costs)
        assert (costs <= dearest * costs[value.argmax()] + 1e-9).all()


def test_a_change_that_does_not_help_is_in_no_option() -> None:
    found = search(free(), Linear(6.0, 6.0, 0.0)).propose(np.array([[0.3, 0.3, 0.3]]))
    with_third = found.points[:, 2] != 0.3
    assert len(found.points)
    assert not (with_third & (found.points[:, :2] != 0.3).any(axis=1)).any()


def test_near_options_stand_beside_far_ones_on_arms_of_their_own() -> None:
    generator = search(free(1), Linear(5.0, 5.0, 5.0, bias=-6.0), 0.3)
    person = np.array([[0.38, 0.38, 0.38]])
    found = generator.propose(person)
    costs, sets = np.abs(found.points - person).sum(axis=1), len(generator.arms) // 2
    assert len(set(found.arm.tolist())) == len(found.arm)
    for arm, cost in zip(found.arm.tolist(), costs.tolist(), strict=True):
        if arm >= sets:
            assert cost <= MUCH_NEARER * costs[found.arm == arm - sets].item()
    assert (found.arm >= sets).any()


def test_what_says_nothing_leaves_the_cheapest_options() -> None:
    person = np.array([[0.3, 0.3, 0.3]])
    flat = search(free(), Linear(0.0, 0.0, 0.0)).propose(person)
    cheapest = Search.build(free(), NONE, Objective(L1())).under(lambda X: X.mean(axis=1), ThresholdGoal(0.4))
    assert flat.points.tolist() == cheapest.propose(person).points.tolist()


def test_people_whom_no_round_number_serves_get_the_cheapest_options() -> None:
    """The only values that are accepted lie between two round numbers."""
    space = scaled_space(np.arange(3), ("any",) * 3, np.full(3, 0.05), 1)
    generator = Search.build(space, NONE, Objective(L1(), 1.0, Linear(1.0, 0.0, 0.0)))
    narrow = generator.under(lambda X: ((X[:, 0] > 0.501) & (X[:, 0] < 0.509)).astype(float), ThresholdGoal(0.5))
    assert ((found := narrow.propose(np.array([[0.1035, 0.0, 0.0]])).points)[:, 0] > 0.501).all()
    assert len(found)


@pytest.mark.parametrize("value", [1.0, 0.5])
def test_a_parameter_outside_its_interval_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="dearest is"):
        search(free(), Linear(1.0, 1.0, 1.0), dearest=value)


def test_one_feature_is_enough() -> None:
    space = scaled_space(np.arange(1), ("up",), np.array([0.1]))
    found = Search.build(space, np.zeros((0, 1)), Objective(L1(), 0.5, Linear(5.0)))
    proposals = found.under(lambda X: X[:, 0], ThresholdGoal(0.4)).propose(np.array([[0.1]]))
    assert (proposals.points > 0.4).all()
    assert len(proposals.points) >= 1
