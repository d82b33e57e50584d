"""Promises of linear models: what is guaranteed holds under every model of the set, and under none beyond."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.agents.promises import (
    Ellipsoid,
    EllipsoidPromise,
    LpBall,
    LpPromise,
    alpha_max,
    drift_ellipsoid,
    drift_radius,
)
from onward.streams.programs.models.scoring import LogisticScore

Array = np.ndarray[Any, Any]
seeds = st.integers(0, 2**32)
norms = st.sampled_from([1.0, 1.5, 2.0, 7.0, math.inf])


def worst(x: Array, p: float) -> Array:
    """The direction of length 1 in the norm p that lowers ``x w`` most."""
    if p == 1.0:
        return -np.sign(x) * (np.arange(len(x)) == np.abs(x).argmax())
    if math.isinf(p):
        return -np.sign(x)
    q = p / (p - 1)
    return -np.sign(x) * np.abs(x) ** (q - 1) / np.linalg.norm(x, q) ** (q - 1)


@given(seed=seeds, p=norms)
def test_an_option_survives_all_models_nearer_than_alpha_max_and_not_the_worst_beyond(seed: int, p: float) -> None:
    random = np.random.default_rng(seed)
    point, weights, bias, required = random.normal(size=4), random.normal(size=4), random.normal(), random.normal()
    if point @ weights + bias <= required:
        bias += required - point @ weights - bias + 0.5
    ball = LpBall(0.0, p)
    survived = alpha_max(point[None], ball.norms(point[None]), weights, bias, required).item()
    row = np.r_[point, 1.0]
    direction = worst(row, p)
    assert np.linalg.norm(direction, p) == pytest.approx(1)
    for share, kept in ((1 - 1e-6, True), (1 + 1e-6, False)):
        odds = (np.r_[weights, bias] + share * survived * direction) @ row
        assert (odds > required) == kept
    other = random.normal(size=5)
    other *= 0.999 * survived / np.linalg.norm(other, p)
    assert (np.r_[weights, bias] + other) @ row > required


def test_the_margin_of_a_guarantee_is_that_of_the_worst_model() -> None:
    score, target = LogisticScore(np.array([3.0, -2.0]), -0.5), np.array([0.9, 0.2])
    promise = LpPromise(norm=1.0)
    promise.equip(radius=0.25)
    found = promise.guarantee(target, score, 0.6)
    assert found is not None
    assert found["margin"] == pytest.approx(2.7 - 0.4 - 0.5 - math.log(0.6 / 0.4) - 0.25)
    assert found["alpha_max"] == pytest.approx(found["margin"] + 0.25)


@given(seed=seeds)
def test_the_worst_case_in_an_ellipsoid_is_attained(seed: int) -> None:
    random = np.random.default_rng(seed)
    root, weights, point = random.normal(size=(4, 4)), random.normal(size=3), random.normal(size=3)
    models, row = Ellipsoid(root @ root.T, 1.7), np.r_[point, 1.0]
    direction = root @ root.T @ row / np.linalg.norm(root.T @ row)
    least = (np.r_[weights, 0.3] - 1.7 * direction) @ row
    assert models.worst_case(point[None], weights, 0.3).item() == pytest.approx(least)
    promise = EllipsoidPromise()
    promise.equip(covariance=models.covariance, radius=1.7)
    found = promise.guarantee(point, LogisticScore(weights, 0.3))
    assert found is not None
    assert found["margin"] == pytest.approx(least)


def test_calibrated_sets_hold_the_share_of_the_retrains_that_was_asked_for() -> None:
    random = np.random.default_rng(0)
    centre = LogisticScore(np.array([1.0, -1.0]), 0.5)
    moves = random.normal(size=(200, 3)) @ np.diag([1.0, 0.1, 0.3])
    weights, bias = centre.weights + moves[:, :2], centre.bias + moves[:, 2]
    for p in (1.0, 2.0, math.inf):
        radius = drift_radius(centre, weights, bias, p, 0.9)
        assert (np.linalg.norm(moves, p, axis=1) <= radius).mean() == 0.9
    models = drift_ellipsoid(centre, weights, bias, 0.9)
    inside = np.einsum("ij,ij->i", moves, np.linalg.solve(models.covariance, moves.T).T) <= models.radius**2 + 1e-9
    assert inside.mean() == 0.9


def test_a_set_never_holds_less_than_the_share_where_it_is_no_whole_number_of_retrains() -> None:
    centre, bias = LogisticScore(np.zeros(1), 0.0), np.arange(1.0, 11.0)
    weights = np.zeros((10, 1))
    assert drift_radius(centre, weights, bias, 2.0, 0.85) == 9.0
    models = drift_ellipsoid(centre, weights, bias, 0.85)
    assert models.radius * math.sqrt(models.covariance[1, 1]) == pytest.approx(9.0)


def test_sets_that_make_no_sense_are_refused() -> None:
    centre = LogisticScore(np.zeros(2), 0.0)
    with pytest.raises(ValueError, match="radius is -1"):
        LpPromise().equip(radius=-1.0)
    with pytest.raises(ValueError, match="radius is nan"):
        Ellipsoid(np.eye(2), math.nan)
    with pytest.raises(ValueError, match="semidefinite"):
        Ellipsoid(np.diag([1.0, -1.0]), 1.0)
    with pytest.raises(ValueError, match="square"):
        Ellipsoid(np.ones((2, 3)), 1.0)
    with pytest.raises(ValueError, match="no retrains"):
        drift_radius(centre, np.zeros((0, 2)), np.zeros(0), 2, 0.9)
    with pytest.raises(ValueError, match="share is 0"):
        drift_ellipsoid(centre, np.zeros((3, 2)), np.zeros(3), 0.0)


@pytest.mark.parametrize("promise", [LpPromise(), EllipsoidPromise()])
def test_a_model_that_is_not_linear_is_told_apart(promise: LpPromise | EllipsoidPromise) -> None:
    assert "linear" in (promise.misfit(lambda X: X.mean(axis=1)) or "")
    assert promise.misfit(LogisticScore(np.array([1.0, 2.0]), -1.5)) is None


def test_a_radius_is_never_told_to_hold_for_all_models() -> None:
    [line] = LpPromise(quantile=0.004).measured_in_words({"radius": 0.1})
    assert line == "lp with the radius 0.1, which 99% of models of resamples of the data stay within"
