"""Robust Bayesian recourse: its densities are extreme, and its targets lie beyond the boundary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onward.benchmarks.robustness.baselines import Bayesian
from onward.benchmarks.robustness.baselines.rbr import in_l1_ball, optimistic_density, pessimistic_density
from onward.streams.programs.models.scoring import LogisticScore

Array = np.ndarray[Any, Any]
LINE = LogisticScore(np.array([1.5, -0.8, 0.3]), -0.6)
DATA = np.random.default_rng(0).normal(size=(300, 3))
PEOPLE = DATA[LINE(DATA) <= 0.5][:10]


@pytest.mark.parametrize("columns", [2, 7])
@pytest.mark.parametrize("epsilon", [0.5, 1.5])
def test_no_move_and_widening_gives_a_more_extreme_density(columns: int, epsilon: float) -> None:
    near, far = (make(columns, 0.7, epsilon, 4.0) for make in (optimistic_density, pessimistic_density))
    size = epsilon * np.sqrt(1.0 - np.linspace(0.0, 1.0, 300)[:, np.newaxis] ** 2)
    angle = np.linspace(0.0, 0.5 * np.pi, 300)
    move, wider = size * np.cos(angle), size * np.sin(angle)
    across = 0.7 + np.sqrt(np.maximum(epsilon**2 - size**2, 0.0) / (columns - 1))
    own = 0.7 + wider
    for distance in (0, 40, 128, 256):
        c = near.distance[distance]
        best = -np.log(own) - (c - move) ** 2 / (2 * own**2) - (columns - 1) * np.log(0.7)
        worst = -np.log(own) - (c + move) ** 2 / (2 * own**2) - (columns - 1) * np.log(across)
        assert near.log[distance] >= best.max() - 1e-5
        assert far.log[distance] <= worst.min() + 1e-5
        assert near.log[distance] == pytest.approx(best.max(), abs=0.01)
        assert far.log[distance] == pytest.approx(worst.min(), abs=0.01)


def test_without_room_both_densities_are_the_gaussian() -> None:
    for make in (optimistic_density, pessimistic_density):
        found = make(3, 0.5, 0.0, 2.0)
        assert np.allclose(found.log, -3 * np.log(0.5) - found.distance**2 / 0.5)
        assert np.allclose(found.slope, -found.distance / 0.25)


def test_the_boundary_point_is_accepted_and_just_so() -> None:
    bayesian = Bayesian(LINE, DATA)
    for person in PEOPLE:
        point = bayesian.boundary(person)
        before = person + (point - person) * (1 - 0.02)
        assert LINE(point[np.newaxis])[0] > 0.5
        assert LINE(before[np.newaxis])[0] < 0.52


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_targets_are_accepted_beyond_the_boundary_and_within_the_budget(epsilon: float) -> None:
    bayesian = Bayesian(LINE, DATA, optimistic=epsilon, pessimistic=epsilon)
    targets = bayesian.targets(PEOPLE, np.random.default_rng(0))
    starts = np.array([bayesian.boundary(person) for person in PEOPLE])
    assert (LINE(targets) > LINE(starts)).all()
    budget = np.abs(starts - PEOPLE).sum(axis=1) + 0.2
    assert (np.abs(targets - PEOPLE).sum(axis=1) <= budget + 1e-9).all()
    again = bayesian.targets(PEOPLE, np.random.default_rng(0))
    assert np.array_equal(again, targets)


def test_where_all_samples_are_accepted_the_boundary_point_stands() -> None:
    above = Bayesian(lambda X: np.where(X[:, 0] > -3, 0.9, 0.1), DATA, radius=0.01)
    person = np.array([[-20.0, 0.0, 0.0]])
    start = above.boundary(person[0])
    assert np.array_equal(above.targets(person, np.random.default_rng(0))[0], start)


def test_data_that_the_model_rejects_are_refused() -> None:
    with pytest.raises(ValueError, match="accepts no row of the data"):
        Bayesian(lambda X: np.zeros(len(X)), DATA)


def test_the_nearest_point_of_the_ball_is_nearest() -> None:
    random = np.random.default_rng(1)
    for change in random.normal(0, 2, (20, 5)):
        inside = in_l1_ball(change, 1.5)
        assert np.abs(inside).sum() <= 1.5 + 1e-12
        others = random.normal(0, 1, (500, 5))
        others *= 1.5 / np.abs(others).sum(axis=1, keepdims=True)
        assert np.linalg.norm(inside - change) <= np.linalg.norm(others - change, axis=1).min() + 1e-12
