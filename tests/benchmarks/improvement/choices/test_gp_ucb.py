"""GP-UCB against the textbook's formulae, one big inverse at a time."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from onward.agents.choices import Pull
from onward.agents.choices.components.pull_buffer import pairs_of
from onward.agents.options import Options
from onward.benchmarks.improvement.choices import GPUCB

POINTS = np.random.default_rng(3).random((12, 2))


def options(person: np.ndarray, points: np.ndarray = POINTS) -> Options:
    arms = np.arange(len(points))
    return Options(person, arms, points, arms, np.ones(len(points)))


def lived(steps: int, **parameters: float) -> GPUCB:
    """Some pulls are rewarded, late, and some are retracted."""
    learner, generator = GPUCB(POINTS, 10, **parameters), np.random.default_rng(7)
    pulls = []
    for step in range(steps):
        pick = learner.choose(options(generator.random(2)), lambda step=step: np.random.default_rng(step))
        assert pick is not None
        pulls.append(Pull(step, pick.arm, pick.execution, pick.context))
        if step > 3 and step % 3 == 0:
            learner.update(pulls[step - 3], float(generator.random() < 0.7))
        if step % 11 == 10:
            learner.retract(pulls[step - 1])
    return learner


@pytest.mark.parametrize(("steps", "memory"), [(40, 1000), (70, 30)])
def test_mean_and_deviation_are_those_of_a_gaussian_process_refitted(steps: int, memory: int) -> None:
    learner = lived(steps, memory=memory, noise=0.1, reach=0.4)
    person = np.array([0.3, 0.6])
    mean, deviation = learner._predict(pairs_of(person, POINTS))
    rows = learner._rows
    known = GaussianProcessRegressor(RBF(0.4, "fixed"), alpha=0.1, optimizer=None)
    known.fit(rows.pairs[rows.active], rows.rewards[rows.active] - 0.5)
    asked = np.concatenate([np.tile(person, (12, 1)), POINTS - person], axis=1)
    expected, spread = known.predict(asked, return_std=True)
    np.testing.assert_allclose(mean, expected + 0.5, atol=1e-9)
    np.testing.assert_allclose(deviation, spread, atol=1e-7)


def test_remembers_at_least_half_of_its_memory() -> None:
    counts = [len(lived(steps, memory=20).state()["steps"]) for steps in (15, 20, 21, 29, 31)]
    assert counts == [15, 20, 11, 19, 11]


def test_prefers_the_less_known_of_two_equal_options() -> None:
    points = np.array([[0.0], [1.0]])
    learner, both = GPUCB(points, 10), options(np.array([0.5]), points)
    for step in range(30):
        pick = learner.choose(both.only(0), np.random.default_rng)
        assert pick is not None
        learner.update(Pull(step, 0, 1.0), float(step % 2))
    pick = learner.choose(both, np.random.default_rng)
    assert pick is not None
    assert pick.arm == 1


def test_the_number_of_threads_of_linear_algebra_changes_nothing() -> None:
    """Products divided among threads round differently, which decides between equal arms."""
    picks = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            picks.append(picked_among_equals(300))
    assert picks[0] == picks[1]


def picked_among_equals(steps: int) -> list[tuple[int, bytes]]:
    """The picks where many arms are equal, and all numbers that decide the next pick."""
    random = np.random.default_rng(0)
    points = np.round(random.random((60, 9)), 1)[random.integers(60, size=200)]
    learner, found = GPUCB(points, 10), []
    for step in range(steps):
        person = np.round(random.random(9), 1)
        pick = learner.choose(options(person, points), lambda step=step: np.random.default_rng(step))
        assert pick is not None
        found.append((pick.arm, np.array(learner._predict(pairs_of(person, points))).tobytes()))
        if random.random() < 0.5:
            learner.update(Pull(step, pick.arm, 1.0), 1.0)
    return found
