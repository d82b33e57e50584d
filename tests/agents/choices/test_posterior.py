from __future__ import annotations

import math

import numpy as np
import pytest

from onward.agents.choices import LinUCB, Posterior, Pull
from onward.agents.choices.components.arm_posteriors import GRID_SIZE, PRIOR_STRENGTH, ArmPosteriors
from onward.agents.choices.components.execution_model import ExecutionModel
from onward.agents.options import Options
from onward.tests.support.toy_worlds import WINDOW, ToyWorld

UNREWARDED = [0.9, 0.8, 0.95]
REWARDED = [0.7, 0.99]


def likelihood(theta: float) -> float:
    return math.prod(1 - theta * e for e in UNREWARDED) * math.prod(theta * e for e in REWARDED)


def moments(size: int) -> tuple[float, float]:
    """Mean and standard deviation of theta under a uniform prior on the middles of ``size`` parts; the mean of the
    lowest part falls with the unrewarded pulls."""
    grid = [(g + 0.5) / size for g in range(size)]
    weights = list(map(likelihood, grid))
    values = [1 / (2 * size + len(UNREWARDED)), *grid[1:]]
    mean = math.fsum(map(math.prod, zip(values, weights, strict=True))) / math.fsum(weights)
    square = math.fsum(map(math.prod, zip(values, values, weights, strict=True))) / math.fsum(weights)
    return mean, math.sqrt(square - mean**2)


def one_known_arm() -> ArmPosteriors:
    posteriors = ArmPosteriors(3, optimism=2.0)
    for e in UNREWARDED + REWARDED:
        posteriors.pull(1, e)
    for e in REWARDED:
        posteriors.reward(1, e, 1.0)
    return posteriors


def test_mean_and_upper_index_are_those_of_the_posterior_on_the_grid() -> None:
    posteriors, (mean, spread) = one_known_arm(), moments(GRID_SIZE)
    assert posteriors.mean[1] == pytest.approx(mean, rel=1e-12)
    assert posteriors.upper_index[1] == pytest.approx(mean + 2.0 * spread, rel=1e-12)


def test_six_grid_values_are_nearly_as_good_as_ten_thousand() -> None:
    posteriors, (mean, spread) = one_known_arm(), moments(10_000)
    assert posteriors.mean[1] == pytest.approx(mean, abs=0.01)
    assert posteriors.upper_index[1] - posteriors.mean[1] == pytest.approx(2.0 * spread, abs=0.02)


def test_the_prior_is_the_mean_posterior_of_the_pulled_arms() -> None:
    posteriors = one_known_arm()
    posteriors.update_prior()
    grid = [(level + 0.5) / GRID_SIZE for level in range(GRID_SIZE)]
    total = math.fsum(map(likelihood, grid))
    expected = [PRIOR_STRENGTH / GRID_SIZE + likelihood(theta) / total for theta in grid]
    np.testing.assert_allclose(posteriors.state()["prior"], expected, rtol=1e-12)
    assert posteriors.mean[0] == pytest.approx(np.dot(grid, expected) / (PRIOR_STRENGTH + 1), rel=1e-12)


def test_an_arm_whose_only_pull_was_forgotten_has_the_prior_s_mean() -> None:
    posteriors = one_known_arm()
    posteriors.pull(0, 0.5)
    posteriors.retract(0, 0.5)
    posteriors.update_prior()
    assert posteriors.mean[0] == pytest.approx(posteriors.mean[2], rel=1e-12)
    assert posteriors.upper_index[0] == pytest.approx(posteriors.upper_index[2], rel=1e-12)


def test_a_reward_moves_a_pull_from_the_failures_to_the_successes() -> None:
    """The log-likelihood by hand: log(theta e) replaces log(1 - theta e), and the pull is unrewarded no more."""
    posteriors, grid = ArmPosteriors(2, 1.0), (np.arange(GRID_SIZE) + 0.5) / GRID_SIZE
    posteriors.pull(0, 0.9)
    posteriors.pull(0, 0.6)
    posteriors.reward(0, 0.9, 1.0)
    expected = np.log(0.9 * grid) + np.log(1 - 0.6 * grid)
    np.testing.assert_allclose(posteriors.state()["log_likelihood"], [expected, np.zeros(GRID_SIZE)], rtol=1e-12)
    assert posteriors.state()["unrewarded"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(("pulls", "reward", "left"), [(0, 1.0, 0.0), (0, 0.5, 0.0), (1, 1.0, 0.0), (1, 0.25, 0.75)])
def test_a_reward_takes_no_failure_back_that_was_not_counted(pulls: int, reward: float, left: float) -> None:
    """A reward of a pull that is unknown, or was retracted, is a success on its own."""
    posteriors, grid = ArmPosteriors(1, 1.0), (np.arange(GRID_SIZE) + 0.5) / GRID_SIZE
    for _ in range(pulls):
        posteriors.pull(0, 0.9)
    posteriors.reward(0, 0.9, reward)
    expected = reward * np.log(0.9 * grid) + left * np.log(1 - 0.9 * grid)
    np.testing.assert_allclose(posteriors.state()["log_likelihood"][0], expected, rtol=1e-12, atol=1e-15)
    assert posteriors.state()["unrewarded"].tolist() == [left]


def test_further_rewards_take_back_what_is_left_of_a_pull_or_nothing() -> None:
    posteriors, left = ArmPosteriors(1, 1.0), []
    posteriors.pull(0, 0.9)
    for reward in (0.75, 0.5, 0.25, 0.25):
        posteriors.reward(0, 0.9, reward)
        left.append(posteriors.state()["unrewarded"].item())
    assert left == [0.25, 0.25, 0.0, 0.0], "half a pull cannot be taken from a quarter"


def test_half_a_reward_is_half_a_success_and_half_a_failure() -> None:
    half, both = ArmPosteriors(2, 1.0), ArmPosteriors(2, 1.0)
    for _ in range(2):
        half.pull(0, 0.9)
        half.reward(0, 0.9, 0.5)
        both.pull(0, 0.9)
    both.reward(0, 0.9, 1.0)
    np.testing.assert_allclose(half.state()["log_likelihood"], both.state()["log_likelihood"], rtol=1e-12, atol=1e-12)


def test_retract_removes_no_more_pulls_than_there_are() -> None:
    posteriors = ArmPosteriors(2, 1.0)
    posteriors.retract(0, 0.9)
    assert not posteriors.state()["log_likelihood"].any()
    posteriors.pull(0, 0.9)
    posteriors.retract(0, 0.9)
    posteriors.retract(0, 0.9)
    np.testing.assert_allclose(posteriors.state()["log_likelihood"], 0.0, atol=1e-12)


def test_arms_that_are_never_rewarded_take_turns_for_ever() -> None:
    points, both = np.array([[0.4], [0.9]]), np.array([0, 1])
    posterior, options = Posterior(points, 3), Options(np.array([0.5]), both, points, both, np.array([0.9, 0.6]))
    picks = [posterior.choose(options, np.random.default_rng) for _ in range(10_000)]
    late = [pick.arm for pick in picks[-1000:] if pick]
    assert 100 < sum(late) < 500, "as often as it is carried out, to the power 3.5"


# --- execution model -------------------------------------------------------------------------------------------------


def estimates(points: np.ndarray, people: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """The estimate of each execution probability (T, K) at its step, from the only option of a batch of one."""
    model, arms = ExecutionModel(points), np.arange(len(points))
    found, equal = np.empty(observed.shape), np.ones(len(points))
    for t, person in enumerate(people):
        options = Options(person, arms, points, arms, observed[t])
        model.learn(t, options)
        found[t] = [model.best_option(options.only(k), equal, 1.0)[1] for k in range(len(points))]
    return found


@pytest.mark.parametrize("noise", [0.1, 0.25, 0.5])
def test_noise_is_regressed_away(noise: float) -> None:
    world = ToyWorld.draw_one(seed=1, noise=noise)
    found = estimates(world.points, world.people, world.observed)
    errors = np.sqrt(((found - world.execution) ** 2).mean(axis=1))
    given = np.sqrt(((world.observed - world.execution) ** 2).mean())
    assert errors[100:].mean() < given / 8


def test_exact_observations_stay_as_they_are() -> None:
    world = ToyWorld.draw_one(seed=2)
    found = estimates(world.points, world.people, world.execution)
    assert np.abs(found - world.execution).max() < 0.01
    assert np.abs(found - world.execution)[300:].max() < 0.0005


def test_residuals_of_another_rule_are_kept() -> None:
    """The largest change counts alone, as with the max percentile shift; no weighted sum of changes says that."""
    world = ToyWorld.draw_one(seed=3, candidates=200)
    exact = np.exp(-np.abs(world.people[:, None, :] - world.points[None, :, :]).max(axis=2))
    trusting = estimates(world.points, world.people, exact)
    assert np.sqrt(((trusting - exact) ** 2)[50:].mean()) < 0.035


def test_neighbours_outside_the_sample_are_compared() -> None:
    """Of 80 arms in pairs a step samples every third, never both of a pair."""
    random = np.random.default_rng(5)
    people, points = random.random((300, 5)), np.repeat(random.random((40, 5)), 2, axis=0)
    points += 0.01 * random.random(points.shape)
    execution = np.exp(-np.abs(people[:, None, :] - points[None, :, :]).mean(axis=2))
    given = np.clip(execution + 0.25 * random.standard_normal(execution.shape), 0, 1)
    found = estimates(points, people, given)
    assert np.sqrt(((found - execution) ** 2)[50:].mean()) < 0.03


def test_a_step_with_thousands_fits_a_sample_and_estimates_all() -> None:
    world = ToyWorld.draw_one(seed=4, noise=0.2, steps=100, candidates=2000)
    found = estimates(world.points, world.people, world.observed)
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
    """Execution probabilities near 0, which clipped noise would raise; the one useless arm is tried, and left."""
    points = np.array([[0.9, 0.6, 0.5, 0.5, 0.5], [0.2, 0.9, 0.5, 0.5, 0.5], [0.5, 0.2, 0.95, 0.5, 0.5]])
    random, posterior, everything = np.random.default_rng(0), Posterior(points, WINDOW), np.arange(3)
    picks = []
    for t in range(3000):
        person = np.array([0.1, 0.1, 0.1, 0.5, 0.5]) + 0.1 * random.random(5)
        execution = np.exp(-5.0 * np.abs(points - person).sum(axis=1))
        pick = posterior.choose(Options(person, everything, points, everything, execution), np.random.default_rng)
        assert pick is not None
        picks.append(pick.arm)
        if pick.arm and random.random() < execution[pick.arm]:
            posterior.update(Pull(t, pick.arm, pick.execution, pick.context), 1.0)
    assert picks[2000:].count(0) < 50


def test_a_pull_counts_with_the_estimate() -> None:
    world = ToyWorld.draw_one(seed=5, noise=0.3)
    posterior, everything = Posterior(world.points, WINDOW), np.arange(len(world.points))
    for t in range(200):
        options = Options(world.people[t], everything, world.points, everything, world.observed[t])
        pick = posterior.choose(options, np.random.default_rng)
        assert pick is not None
    assert pick.execution == pytest.approx(world.execution[199, pick.arm], abs=0.05)
    before = posterior.state()["log_likelihood"][pick.arm]
    posterior.update(Pull(199, pick.arm, pick.execution, pick.context), 1.0)
    gain = posterior.state()["log_likelihood"][pick.arm] - before
    grid = (np.arange(GRID_SIZE) + 0.5) / GRID_SIZE * pick.execution
    np.testing.assert_allclose(gain, np.log(grid / (1 - grid)), rtol=1e-9)
