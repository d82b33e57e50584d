"""GP-UCB against the textbook's formulae, one big inverse at a time."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from onward.agents.choices import GPUCB, Pull

POINTS = np.random.default_rng(3).random((12, 2))
EVERYBODY = np.arange(12)


def lived(steps: int, **parameters: float) -> GPUCB:
    """Rewards for some, late; some were never seen."""
    learner, generator = GPUCB(POINTS, 10, **parameters), np.random.default_rng(7)
    pulls = []
    for step in range(steps):
        pick = learner.choose(
            generator.random(2), EVERYBODY, np.ones(12), lambda step=step: np.random.default_rng(step)
        )
        assert pick is not None
        pulls.append(Pull(step, pick.candidate, pick.execution))
        if step > 3 and step % 3 == 0:
            learner.update(pulls[step - 3], float(generator.random() < 0.7))
        if step % 11 == 10:
            learner.forget(pulls[step - 1])
    return learner


@pytest.mark.parametrize(("steps", "memory"), [(40, 1000), (70, 30)])
def test_mean_and_deviation_are_those_of_a_gaussian_process_fitted_anew(steps: int, memory: int) -> None:
    learner = lived(steps, memory=memory, noise=0.1, reach=0.4)
    person = np.array([0.3, 0.6])
    mean, deviation = learner._predict(person, EVERYBODY)
    rows = learner._rows
    known = GaussianProcessRegressor(RBF(0.4, "fixed"), alpha=0.1, optimizer=None)
    known.fit(rows.pairs[rows.kept], rows.rewards[rows.kept] - 0.5)
    asked = np.concatenate([np.tile(person, (12, 1)), POINTS - person], axis=1)
    expected, spread = known.predict(asked, return_std=True)
    np.testing.assert_allclose(mean, expected + 0.5, atol=1e-9)
    np.testing.assert_allclose(deviation, spread, atol=1e-7)


def test_remembers_at_least_half_of_what_it_may() -> None:
    counts = [len(lived(steps, memory=20).state()["steps"]) for steps in (15, 20, 21, 29, 31)]
    assert counts == [15, 20, 11, 19, 11]


def test_tries_what_it_knows_least_of_two_that_seem_equal() -> None:
    learner = GPUCB(np.array([[0.0], [1.0]]), 10)
    person, both = np.array([0.5]), np.arange(2)
    for step in range(30):
        pick = learner.choose(person, both[:1], np.ones(1), np.random.default_rng)
        assert pick is not None
        learner.update(Pull(step, 0, 1.0), float(step % 2))
    pick = learner.choose(person, both, np.ones(2), np.random.default_rng)
    assert pick is not None
    assert pick.candidate == 1


def test_as_many_threads_of_linear_algebra_as_you_like() -> None:
    """Products that are divided among threads are rounded otherwise; in picks among equals that is seen."""
    picks = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            picks.append(picked_among_equals(300))
    assert picks[0] == picks[1]


def picked_among_equals(steps: int) -> list[tuple[int, bytes]]:
    """What is picked where many candidates are the same, and all numbers that the next pick follows from."""
    random = np.random.default_rng(0)
    points = np.round(random.random((60, 9)), 1)[random.integers(60, size=200)]
    learner, everybody, found = GPUCB(points, 10), np.arange(200), []
    for step in range(steps):
        person = np.round(random.random(9), 1)
        pick = learner.choose(person, everybody, np.ones(200), lambda step=step: np.random.default_rng(step))
        assert pick is not None
        found.append((pick.candidate, np.array(learner._predict(person, everybody)).tobytes()))
        if random.random() < 0.5:
            learner.update(Pull(step, pick.candidate, 1.0), 1.0)
    return found
