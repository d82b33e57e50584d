"""Difficulties learned from changes that succeeded and failed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onward.agents.costs import (
    DifficultyPosterior,
    attainability,
    plan_success,
    success_probability,
)

Array = np.ndarray[Any, Any]
TRUE = np.array([0.84, 0.15, 0.85, 0.78, 0.25, 0.18, 0.29, 0.83, 0.91, 0.1])
BETA = 0.05
Observations = tuple[Array, Array, Array]


def observations(people: int, seed: int) -> Observations:
    """Feature, attainability and success of changes of all features, by up to 30 % of the way to 1."""
    random = np.random.default_rng(seed)
    own = random.uniform(0.2, 0.8, (people, len(TRUE)))
    attainable = attainability(own, own + (1 - own) * random.uniform(0, 0.3, own.shape))
    succeeded = random.random(own.shape) < success_probability(attainable, BETA / TRUE)
    return np.tile(np.arange(len(TRUE)), people), attainable.ravel(), succeeded.ravel()


def error(learner: DifficultyPosterior) -> float:
    """The absolute error, summed over the features."""
    return float(np.abs(learner.difficulty - TRUE).sum())


def test_a_thousand_attempts_a_feature_leave_an_error_of_three_tenths() -> None:
    errors = []
    for seed in range(5):
        posterior = DifficultyPosterior(len(TRUE), BETA)
        posterior.update(*observations(1000, seed))
        errors.append(error(posterior))
    assert np.mean(errors) < 0.3


def test_recovers_theta() -> None:
    posterior = DifficultyPosterior(len(TRUE), BETA)
    posterior.update(*observations(20_000, 1))
    assert posterior.theta == pytest.approx(BETA / TRUE, rel=0.15)


def test_the_order_and_the_portions_do_not_matter() -> None:
    feature, attainable, succeeded = observations(200, 1)
    whole, parts = DifficultyPosterior(len(TRUE), BETA), DifficultyPosterior(len(TRUE), BETA)
    whole.update(feature, attainable, succeeded)
    order = np.random.default_rng(0).permutation(len(feature))
    for portion in np.array_split(order, 7):
        parts.update(feature[portion], attainable[portion], succeeded[portion])
    assert np.allclose(whole.weights, parts.weights, rtol=1e-9)


def test_a_restored_learner_goes_on_as_the_other() -> None:
    one, other = DifficultyPosterior(len(TRUE), BETA), DifficultyPosterior(len(TRUE), BETA)
    one.update(*observations(50, 2))
    other.restore(one.state())
    for learner in (one, other):
        learner.update(*observations(50, 3))
    assert np.array_equal(one.difficulty, other.difficulty)
    assert all(np.array_equal(array, other.state()[name]) for name, array in one.state().items())


def test_the_state_does_not_grow_and_is_a_copy() -> None:
    posterior = DifficultyPosterior(len(TRUE), BETA)
    before = posterior.state()
    posterior.update(*observations(100, 0))
    assert not before["log_likelihood"].any()
    assert before["log_likelihood"].shape == posterior.state()["log_likelihood"].shape


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"log_likelihood": np.zeros((2, 100))},
        {"log_likelihood": np.full((10, 100), np.nan)},
        {"log_likelihood": np.zeros((10, 100)), "more": np.zeros(1)},
    ],
)
def test_a_state_of_another_is_refused(state: dict[str, Array]) -> None:
    posterior = DifficultyPosterior(len(TRUE), BETA)
    with pytest.raises(ValueError, match="the state"):
        posterior.restore(state)
    assert not posterior.state()["log_likelihood"].any()


def test_changes_that_must_succeed_or_fail_teach_nothing_wrong() -> None:
    posterior = DifficultyPosterior(1, BETA)
    posterior.update(np.zeros(2, dtype=np.intp), np.array([np.inf, 0.0]), np.array([True, False]))
    assert posterior.difficulty == pytest.approx([0.505])


def test_predicted_success_is_what_happens() -> None:
    posterior = DifficultyPosterior(len(TRUE), BETA)
    posterior.update(*observations(1000, 4))
    random = np.random.default_rng(5)
    own = random.uniform(0.2, 0.8, (400, len(TRUE)))
    targets = np.where(random.random(own.shape) < 0.3, own + 0.1 * (1 - own), own)
    predicted = posterior.success(attainability(own, targets)).prod(axis=1)
    assert abs(predicted.mean() - plan_success(own, targets, BETA / TRUE).mean()) < 0.02
