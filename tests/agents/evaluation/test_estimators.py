"""Estimates from logged steps whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from onward.agents.evaluation import Evaluation, Log, evaluate
from onward.agents.evaluation.estimators import MIN_EFFECTIVE, NORMAL_95, mean, rare, snips
from onward.benchmarks.evaluation import of_single_options

CANDIDATES, EXPLORATION = 5, 0.4
LOGS = 400


def logged(generator: np.random.Generator, steps: int, guess: float = 1.0) -> tuple[Log, float]:
    """A log of an exploring policy, and the mean reward of the evaluated one on the same people.

    Chances of a reward depend on person and candidate; ``guess`` times them is what is expected of them.
    """
    chance = generator.random((steps, CANDIDATES)) * np.linspace(0.3, 1.0, CANDIDATES)
    favourite, wanted = np.arange(steps) % 2, np.arange(steps) % 3
    propensity = np.full((steps, CANDIDATES), EXPLORATION / CANDIDATES)
    propensity[np.arange(steps), favourite] += 1.0 - EXPLORATION
    explored = generator.random(steps) < EXPLORATION
    taken = np.where(explored, generator.integers(CANDIDATES, size=steps), favourite)
    everyone = np.arange(steps)
    reward = (generator.random(steps) < chance[everyone, taken]).astype(float)
    log = of_single_options(
        reward,
        propensity[everyone, taken],
        (taken == wanted).astype(float),
        guess * chance[everyone, taken],
        guess * chance[everyone, wanted],
    )
    return log, float(chance[everyone, wanted].mean())


def logged_in_pairs(generator: np.random.Generator, steps: int) -> tuple[Log, float]:
    """Two of three options are suggested. Whether one is rewarded does not depend on the other."""
    chance = generator.random((steps, 3)) * [0.2, 0.4, 0.6]
    uniform = EXPLORATION * 2 / 3
    propensity = np.array([1.0 - EXPLORATION + uniform, 1.0 - EXPLORATION + uniform, uniform])
    left_out = np.where(generator.random(steps) < EXPLORATION, generator.integers(3, size=steps), 2)
    suggested = left_out[:, np.newaxis] != np.arange(3)
    rewards = (generator.random((steps, 3)) < chance) & suggested
    both = suggested / propensity * [0.0, 1.0, 1.0]
    log = Log(
        rewards.sum(axis=1).astype(float),
        both.sum(axis=1),
        (both * rewards).sum(axis=1),
        (both * chance).sum(axis=1),
        chance[:, 1:].sum(axis=1),
        np.full(steps, 2.0),
        np.zeros(steps, dtype=bool),
        np.ones(steps, dtype=bool),
        np.zeros(steps, dtype=bool),
    )
    return log, float(chance[:, 1:].sum(axis=1).mean())


def test_estimates_of_several_options_a_step_are_right_on_average_and_intervals_cover() -> None:
    """A right mean is refused once in 10,000 seeds; so is a coverage of 95 %."""
    generator = np.random.default_rng(12)
    found = [(evaluate(log), truth) for log, truth in (logged_in_pairs(generator, 500) for _ in range(LOGS))]
    for name in ("ips", "snips", "doubly_robust"):
        estimates = [(getattr(evaluation, name), truth) for evaluation, truth in found]
        off = np.array([estimate.value - truth for estimate, truth in estimates])
        assert abs(off.mean()) < 3.9 * off.std(ddof=1) / math.sqrt(LOGS) + 0.001
        covered = np.mean([estimate.low <= truth <= estimate.high for estimate, truth in estimates])
        assert covered > 0.95 - 3.7 * math.sqrt(0.95 * 0.05 / LOGS)


@pytest.fixture(scope="module")
def evaluations() -> list[tuple[Evaluation, float]]:
    generator = np.random.default_rng(11)
    return [(evaluate(log), truth) for log, truth in (logged(generator, 2000) for _ in range(LOGS))]


@pytest.mark.parametrize("name", ["ips", "snips", "doubly_robust"])
def test_estimates_are_right_on_average_and_intervals_cover(
    evaluations: list[tuple[Evaluation, float]], name: str
) -> None:
    """A right mean is refused once in 10,000 seeds (3.9 standard errors); so is a coverage of 95 %."""
    found = [(getattr(evaluation, name), truth) for evaluation, truth in evaluations]
    off = np.array([estimate.value - truth for estimate, truth in found])
    assert abs(off.mean()) < 3.9 * off.std(ddof=1) / math.sqrt(LOGS)
    covered = np.mean([estimate.low <= truth <= estimate.high for estimate, truth in found])
    assert covered > 0.95 - 3.7 * math.sqrt(0.95 * 0.05 / LOGS)
    widths = np.array([estimate.error for estimate, _ in found])
    assert off.std() == pytest.approx(widths.mean(), rel=0.2)


def test_the_weights_are_one_on_average(evaluations: list[tuple[Evaluation, float]]) -> None:
    weights = np.array([evaluation.mean_weight for evaluation, _ in evaluations])
    assert abs(weights.mean() - 1.0) < 3.9 * weights.std(ddof=1) / math.sqrt(LOGS)


def test_what_is_expected_narrows_the_interval_and_a_wrong_guess_does_not_mislead() -> None:
    good, truth = logged(np.random.default_rng(3), 20_000)
    wrong, _ = logged(np.random.default_rng(3), 20_000, guess=0.0)
    sure, unsure = evaluate(good), evaluate(wrong)
    assert sure.doubly_robust.error < 0.85 * sure.ips.error
    assert unsure.doubly_robust == unsure.ips
    for estimate in (sure.doubly_robust, unsure.doubly_robust, sure.snips):
        assert abs(estimate.value - truth) < 4 * estimate.error


def test_by_hand() -> None:
    weight, reward = np.array([2.0, 0.0, 4.0, 1.0]), np.array([1.0, 1.0, 0.0, 0.5])
    assert mean(weight * reward).value == 2.5 / 4
    one = np.ones(4)
    estimate = snips(Log(reward, weight, weight * reward, one, one, one, one > 1, one > 0, one > 1))
    assert estimate.value == pytest.approx(2.5 / 7)
    squares = 4 * (4.5 / 7) ** 2 + 16 * (2.5 / 7) ** 2 + (1 / 7) ** 2
    assert estimate.error == pytest.approx(math.sqrt(squares) / 7)
    assert estimate.high - estimate.low == pytest.approx(2 * NORMAL_95 * estimate.error)


def alike(steps: int, matched: int, propensity: float) -> Log:
    target = (np.arange(steps) < matched).astype(float)
    half = np.full(steps, 0.5)
    return of_single_options(np.arange(steps) % 2.0, np.full(steps, propensity), target, half, half)


def constant(steps: int, reward: float) -> Log:
    log = alike(steps, steps // 2, 0.5)
    return log._replace(reward=np.full(steps, reward), weighted=reward * log.weight)


def rare_rewards(generator: np.random.Generator, steps: int, exploration: float, rate: float) -> Log:
    """Half the time both want the same; rewards are as rare, whatever is suggested."""
    even = exploration / CANDIDATES
    wanted = np.where(np.arange(steps) % 2, even, 1.0 - exploration + even)
    matched = generator.random(steps) < wanted
    reward = (generator.random(steps) < rate).astype(float)
    known = np.full(steps, rate)
    return of_single_options(reward, np.where(matched, wanted, 1.0 - wanted), matched.astype(float), known, known)


@pytest.mark.parametrize("rate", [0.004, 0.03, 0.97])
@pytest.mark.parametrize("exploration", [0.1, 0.4])
def test_intervals_cover_where_rewards_are_rare_or_nothing_is_said(exploration: float, rate: float) -> None:
    """Without the doubt they hold the truth in as little as half the logs."""
    generator = np.random.default_rng(5)
    found = [evaluate(rare_rewards(generator, 6000, exploration, rate)) for _ in range(LOGS)]
    missed = [found for found in found if found.snips and not found.snips.low <= rate <= found.snips.high]
    assert len(missed) < 0.1 * LOGS


def test_rare_outcomes_are_counted_by_weight() -> None:
    """Alike in weight they are as many as there are; a heavy one among many light ones tells of the heavy only."""
    assert rare(np.ones(10_000), 0.0025) == pytest.approx(25, rel=0.01)
    assert rare(np.ones(10_000), 0.5) == math.inf
    heavy = np.where(np.arange(10_000) % 100, 1.0, 100.0)
    assert rare(heavy, 1 / 37) < 10_000 / 100 / 37 * 1.2


def test_the_log_s_own_policy_earns_what_it_earned() -> None:
    found = evaluate(alike(200, 200, 1.0))
    assert found.doubt is None
    assert found.ips == found.logged
    assert found.snips.value == found.logged.value
    assert found.gain.value == pytest.approx(0.0)


def test_steps_without_exploration_are_left_out_whether_or_not_the_policies_agree_there() -> None:
    """Exploration was switched on in mid-log. Those of the steps before at which both agree would hide the gain."""
    log, value = logged(np.random.default_rng(7), 6000)
    before, apart = np.arange(6000) < 2500, np.arange(6000) % 10 == 3
    fixed = log._replace(fixed=before, explored=~before, unsupported=before & apart)
    found, known = evaluate(fixed), evaluate(Log._make(column[~before] for column in log))
    assert found == known._replace(unexplored=2500)
    assert found.gain.low < value - log.reward[~before].mean() < found.gain.high
    assert evaluate(fixed._replace(unsupported=before > 1)) == evaluate(log)
    late = np.arange(6000) < 3500
    assert (
        "only 2500 steps have exploration"
        in evaluate(fixed._replace(fixed=late, explored=~late, unsupported=late & apart)).doubt
    )


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (alike(200, 199, 1.0), "at 1 of 200 steps without exploration the policy takes what"),
        (alike(200, 0, 0.5), "weigh as much as 0.0"),
        (alike(1000, int(MIN_EFFECTIVE) - 1, 0.5), "weigh as much as 99.0, at least 100 are needed"),
        (alike(1000, 300, 0.5), "the mean weight is 0.600"),
        (constant(1000, 0.0), "0.00% of the log's steps have a reward"),
        (constant(1000, 1.0), "100.00% of the log's steps have a reward"),
        (alike(0, 0, 1.0), "no step whose reward is known"),
        (alike(1, 1, 1.0), "at least 100"),
    ],
)
def test_no_number_where_it_would_mean_nothing(log: Log, words: str) -> None:
    found = evaluate(log)
    assert words in found.doubt
    assert found.ips is found.snips is found.doubly_robust is found.gain is None
