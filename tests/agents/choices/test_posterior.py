from __future__ import annotations

import math

import numpy as np
import pytest

from onward.agents.choices import LinUCB, Posterior, Pull
from onward.agents.choices.components.arm_posteriors import CROWD, LEVELS, ArmPosteriors
from onward.agents.choices.components.execution_model import ExecutionModel
from onward.tests.support.toy_worlds import WINDOW, ToyWorld

SILENT = [0.9, 0.8, 0.95]
REWARDED = [0.7, 0.99]


def likelihood(theta: float) -> float:
    return math.prod(1 - theta * e for e in SILENT) * math.prod(theta * e for e in REWARDED)


def moments(levels: int) -> tuple[float, float]:
    """Mean and standard deviation of theta under a uniform prior on the middles of so many parts; the lowest one's mean
    falls with the silent pulls."""
    grid = [(level + 0.5) / levels for level in range(levels)]
    weights = list(map(likelihood, grid))
    values = [1 / (2 * levels + len(SILENT)), *grid[1:]]
    mean = math.fsum(map(math.prod, zip(values, weights, strict=True))) / math.fsum(weights)
    square = math.fsum(map(math.prod, zip(values, values, weights, strict=True))) / math.fsum(weights)
    return mean, math.sqrt(square - mean**2)


def pull(beliefs: ArmPosteriors, candidate: int, execution: float) -> None:
    beliefs.pull(candidate, execution)


def beliefs_of_one() -> ArmPosteriors:
    beliefs = ArmPosteriors(3, optimism=2.0)
    for e in SILENT + REWARDED:
        pull(beliefs, 1, e)
    for e in REWARDED:
        beliefs.reward(1, e, 1.0)
    return beliefs


def test_belief_is_the_posterior_on_the_levels() -> None:
    beliefs, (mean, spread) = beliefs_of_one(), moments(LEVELS)
    assert beliefs.mean[1] == pytest.approx(mean, rel=1e-12)
    assert beliefs.promise[1] == pytest.approx(mean + 2.0 * spread, rel=1e-12)


def test_six_levels_are_nearly_the_whole_interval() -> None:
    beliefs, (mean, spread) = beliefs_of_one(), moments(10_000)
    assert beliefs.mean[1] == pytest.approx(mean, abs=0.01)
    assert beliefs.promise[1] - beliefs.mean[1] == pytest.approx(2.0 * spread, abs=0.02)


def test_the_prior_is_what_is_believed_of_all_candidates_that_were_pulled() -> None:
    beliefs = beliefs_of_one()
    beliefs.learn_prior()
    grid = [(level + 0.5) / LEVELS for level in range(LEVELS)]
    total = math.fsum(map(likelihood, grid))
    expected = [CROWD / LEVELS + likelihood(theta) / total for theta in grid]
    np.testing.assert_allclose(beliefs.state()["prior"], expected, rtol=1e-12)
    assert beliefs.mean[0] == pytest.approx(np.dot(grid, expected) / (CROWD + 1), rel=1e-12)


def test_a_candidate_that_was_taken_back_is_believed_what_those_are_that_nothing_is_known_of() -> None:
    beliefs = beliefs_of_one()
    pull(beliefs, 0, 0.5)
    beliefs.forget(0, 0.5)
    beliefs.learn_prior()
    assert beliefs.mean[0] == pytest.approx(beliefs.mean[2], rel=1e-12)
    assert beliefs.promise[0] == pytest.approx(beliefs.promise[2], rel=1e-12)


def test_half_a_reward_is_half_a_success_and_half_a_failure() -> None:
    half, both = ArmPosteriors(2, 1.0), ArmPosteriors(2, 1.0)
    for _ in range(2):
        pull(half, 0, 0.9)
        half.reward(0, 0.9, 0.5)
        pull(both, 0, 0.9)
    both.reward(0, 0.9, 1.0)
    np.testing.assert_allclose(half.state()["evidence"], both.state()["evidence"], rtol=1e-12, atol=1e-12)


def test_nothing_is_taken_back_that_was_not_given() -> None:
    beliefs = ArmPosteriors(2, 1.0)
    beliefs.forget(0, 0.9)
    assert not beliefs.state()["evidence"].any()
    pull(beliefs, 0, 0.9)
    beliefs.forget(0, 0.9)
    beliefs.forget(0, 0.9)
    np.testing.assert_allclose(beliefs.state()["evidence"], 0.0, atol=1e-12)


def test_candidates_that_never_do_any_good_take_turns_for_ever() -> None:
    posterior, both = Posterior(np.array([[0.4], [0.9]]), 3), np.array([0, 1])
    picks = [
        posterior.choose(np.array([0.5]), both, np.array([0.9, 0.6]), np.random.default_rng) for _ in range(10_000)
    ]
    late = [pick.candidate for pick in picks[-1000:] if pick]
    assert 100 < sum(late) < 500, "as often as it is carried out, to the power 3.5"


# --- readings --------------------------------------------------------------------------------------------------------


def estimates(readings: ExecutionModel, people: np.ndarray, given: np.ndarray) -> np.ndarray:
    """What each step estimates of each candidate: asked for one at a time it is the most promising."""
    everything, found = np.arange(given.shape[1]), np.empty(given.shape)
    promise, alone = np.ones(given.shape[1]), np.split(everything, given.shape[1])
    for t, person in enumerate(people):
        readings.learn(t, person, everything, given[t])
        for k, one in enumerate(alone):
            _, found[t, k] = readings.most_promising(person, one, given[t, k : k + 1], promise, 1.0)
    return found


@pytest.mark.parametrize("noise", [0.1, 0.25, 0.5])
def test_noise_is_regressed_away(noise: float) -> None:
    world = ToyWorld.draw_one(seed=1, noise=noise)
    found = estimates(ExecutionModel(world.points), world.people, world.readings)
    errors = np.sqrt(((found - world.execution) ** 2).mean(axis=1))
    given = np.sqrt(((world.readings - world.execution) ** 2).mean())
    assert errors[100:].mean() < given / 8


def test_exact_readings_stay_what_they_are() -> None:
    world = ToyWorld.draw_one(seed=2)
    found = estimates(ExecutionModel(world.points), world.people, world.execution)
    assert np.abs(found - world.execution).max() < 0.01
    assert np.abs(found - world.execution)[300:].max() < 0.0005


def test_readings_of_another_rule_are_believed() -> None:
    """The largest change counts alone, as with the max percentile shift; no weighted sum of changes says that."""
    world = ToyWorld.draw_one(seed=3, candidates=200)
    exact = np.exp(-np.abs(world.people[:, None, :] - world.points[None, :, :]).max(axis=2))
    trusting = estimates(ExecutionModel(world.points), world.people, exact)
    assert np.sqrt(((trusting - exact) ** 2)[50:].mean()) < 0.035


def test_neighbours_are_compared_where_only_one_of_them_is_read() -> None:
    """Of 80 candidates in pairs a step reads every third, never both of a pair."""
    random = np.random.default_rng(5)
    people, points = random.random((300, 5)), np.repeat(random.random((40, 5)), 2, axis=0)
    points += 0.01 * random.random(points.shape)
    execution = np.exp(-np.abs(people[:, None, :] - points[None, :, :]).mean(axis=2))
    given = np.clip(execution + 0.25 * random.standard_normal(execution.shape), 0, 1)
    found = estimates(ExecutionModel(points), people, given)
    assert np.sqrt(((found - execution) ** 2)[50:].mean()) < 0.03


def test_a_step_with_thousands_fits_a_part_and_reads_all() -> None:
    world = ToyWorld.draw_one(seed=4, noise=0.2, steps=100, candidates=2000)
    found = estimates(ExecutionModel(world.points), world.people, world.readings)
    assert np.sqrt(((found - world.execution) ** 2)[50:].mean()) < 0.03


# --- quality ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("noise", "regularisation"), [(0.0, 30.0), (0.25, 40.0)])
def test_earns_more_than_linucb(noise: float, regularisation: float) -> None:
    """The mean lead on eight paired worlds is at least three standard errors: by luck alone, once in a hundred."""
    worlds = [ToyWorld.draw_one(seed, noise) for seed in range(8)]
    lead = np.array(
        [
            world.mean_expected_reward(Posterior(world.points, WINDOW))
            - world.mean_expected_reward(LinUCB(world.points, WINDOW, regularisation=regularisation))
            for world in worlds
        ]
    )
    assert lead.mean() > 3.0 * lead.std(ddof=1) / math.sqrt(len(lead))


def test_small_probabilities_are_told_apart() -> None:
    """Readings of a cost that weighs heavily are all near 0, where clipping noise would lift them; the one candidate
    that is no good is tried, and left."""
    points = np.array([[0.9, 0.6, 0.5, 0.5, 0.5], [0.2, 0.9, 0.5, 0.5, 0.5], [0.5, 0.2, 0.95, 0.5, 0.5]])
    random, posterior, everything = np.random.default_rng(0), Posterior(points, WINDOW), np.arange(3)
    picks = []
    for t in range(3000):
        person = np.array([0.1, 0.1, 0.1, 0.5, 0.5]) + 0.1 * random.random(5)
        execution = np.exp(-5.0 * np.abs(points - person).sum(axis=1))
        pick = posterior.choose(person, everything, execution, np.random.default_rng)
        assert pick is not None
        picks.append(pick.candidate)
        if pick.candidate and random.random() < execution[pick.candidate]:
            posterior.update(Pull(t, pick.candidate, pick.execution), 1.0)
    assert picks[2000:].count(0) < 50


def test_the_estimate_is_what_a_pull_is_counted_with() -> None:
    world = ToyWorld.draw_one(seed=5, noise=0.3)
    posterior, everything = Posterior(world.points, WINDOW), np.arange(len(world.points))
    for t in range(200):
        pick = posterior.choose(world.people[t], everything, world.readings[t], np.random.default_rng)
        assert pick is not None
    assert pick.execution == pytest.approx(world.execution[199, pick.candidate], abs=0.05)
    before = posterior.state()["evidence"][pick.candidate]
    posterior.update(Pull(199, pick.candidate, pick.execution), 1.0)
    gain = posterior.state()["evidence"][pick.candidate] - before
    levels = (np.arange(LEVELS) + 0.5) / LEVELS * pick.execution
    np.testing.assert_allclose(gain, np.log(levels / (1 - levels)), rtol=1e-9)
