"""The literature's methods beside the optimum: which of them reach it, and how far off the printed sign is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from onward.agents.promises import Ellipsoid, LpBall
from onward.benchmarks.robustness.baselines import (
    Algorithm1,
    Algorithm2,
    Roar,
    gradient_surrogate,
    sampled_surrogate,
)
from onward.benchmarks.robustness.exact import RobustEllipsoid, RobustLinear, Rules, Status

Array = np.ndarray[Any, Any]
WEIGHTS, BIAS, TRADE = np.array([1.5, -0.8, 0.3, 0.05]), -1.0, 0.05
PEOPLE = np.random.default_rng(0).normal(size=(12, 4))
PEOPLE[:, 3] = 0.0
ANYWHERE = Rules(np.full(1, -np.inf), np.full(1, np.inf))


def excess(targets: Array, radius: float, p: float) -> Array:
    """How far the worst-case price of targets is above the optimum, (n,)."""
    robust = RobustLinear(WEIGHTS, BIAS, LpBall(radius, p))
    price = np.logaddexp(0, -robust.margin(targets)) + TRADE * np.abs(targets - PEOPLE).sum(axis=1)
    return np.asarray(price - robust.price(PEOPLE, ANYWHERE, TRADE).objective)


@pytest.mark.parametrize("radius", [0.1, 0.4])
def test_algorithm_1_is_optimal_with_the_corrected_sign_only(radius: float) -> None:
    corrected = excess(Algorithm1(WEIGHTS, BIAS, radius, corrected=True).price(PEOPLE, TRADE), radius, 1.0)
    printed = excess(Algorithm1(WEIGHTS, BIAS, radius).price(PEOPLE, TRADE), radius, 1.0)
    assert np.abs(corrected).max() < 1e-4
    assert printed.min() > -1e-9
    assert printed.mean() > 0.02 * radius


@pytest.mark.parametrize("radius", [0.1, 0.4])
def test_algorithm_2_is_optimal_with_unit_costs_and_no_bounds(radius: float) -> None:
    assert np.abs(excess(Algorithm2(WEIGHTS, BIAS, radius).price(PEOPLE, TRADE), radius, math.inf)).max() < 1e-9


@pytest.mark.parametrize("p", [1.0, math.inf])
def test_roar_comes_near_the_optimum_and_stays_above_it(p: float) -> None:
    above = excess(Roar(WEIGHTS, BIAS, LpBall(0.1, p)).price(PEOPLE, TRADE), 0.1, p)
    assert above.min() >= -1e-9
    assert above.max() < 0.05
    with pytest.raises(ValueError, match="p is 2"):
        Roar(WEIGHTS, BIAS, LpBall(0.1, 2.0))


def test_surrogates_are_the_model_where_it_is_linear_and_the_gradient_is_flat_where_it_is_piecewise_constant() -> None:
    def linear(X: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-(X @ WEIGHTS + BIAS))))

    for found in (
        gradient_surrogate(linear, PEOPLE[0]),
        sampled_surrogate(linear, PEOPLE[0], np.random.default_rng(0), ridge=1e-9),
    ):
        assert np.allclose(found.weights, WEIGHTS, atol=1e-4)
        assert found.bias == pytest.approx(BIAS, abs=1e-4)
    assert not gradient_surrogate(lambda X: np.where(X[:, 0] > 5, 0.9, 0.1), PEOPLE[0]).weights.any()


def test_the_ellipsoid_of_a_ball_costs_what_the_ball_does() -> None:
    rules = Rules(PEOPLE - 2, PEOPLE + 2)
    ball = RobustLinear(WEIGHTS, BIAS, LpBall(0.3, 2)).least_cost(PEOPLE, rules, 0.5)
    same = RobustEllipsoid(WEIGHTS, BIAS, Ellipsoid(0.09 * np.eye(5), 1.0)).least_cost(PEOPLE, rules, 0.5)
    assert same.status.tolist() == ball.status.tolist()
    assert Status.OUT_OF_REACH in ball.status
    assert np.allclose(same.cost[same.reached], ball.cost[ball.reached], rtol=0, atol=1e-8)
    assert (same.gap[same.reached] < 1e-8).all()
    assert np.allclose(same.best[~same.reached], ball.best[~ball.reached], rtol=0, atol=1e-8)
    with pytest.raises(ValueError, match="RobustLinear alone"):
        RobustEllipsoid(WEIGHTS, BIAS, Ellipsoid(np.eye(5), 1.0)).least_cost(
            PEOPLE, rules._replace(step=np.ones(4)), 0.5
        )
