from __future__ import annotations

import heapq
import math

import numpy as np
import pytest

from onward.agents.choices import Choice, Factored, LinUCB, Pick, Posterior, Pull
from onward.agents.options import Options
from onward.tests.support.toy_worlds import WINDOW, ToyWorld

POINTS = np.random.default_rng(0).random((12, 3))
ALL = np.arange(12)


def people(count: int) -> np.ndarray:
    return np.random.default_rng(1).random((count, 3))


def take(factored: Factored, person: np.ndarray, execution: float = 0.0) -> Pick:
    pick = factored.choose(Options(person, ALL, POINTS, ALL, np.full(12, execution)), np.random.default_rng)
    assert pick is not None
    return pick


def skip(factored: Factored, steps: int = 1) -> None:
    """Steps of people without options."""
    for _ in range(steps):
        assert (
            factored.choose(Options(people(1)[0], ALL[:0], POINTS, ALL[:0], np.empty(0)), np.random.default_rng) is None
        )


def test_observed_execution_probabilities_are_ignored() -> None:
    one, other = Factored(POINTS, 3), Factored(POINTS, 3)
    for person in people(50):
        assert take(one, person, 0.0) == take(other, person, 1.0)


def test_starts_from_the_paper_s_execution_probability() -> None:
    person = np.array([0.1, 0.2, 0.3])
    pick = take(Factored(POINTS, 3), person)
    nearest = int(np.abs(POINTS - person).sum(axis=1).argmin())
    assert pick.arm == nearest
    assert pick.execution == pytest.approx(math.exp(-np.abs(POINTS[nearest] - person).sum() / 3))


def test_weights_are_those_of_a_plain_regression() -> None:
    """Every pull's score and weight as the page writes them, added up by hand and solved with numpy."""
    factored, window = Factored(POINTS, 4), 4
    prior = np.full((3, 3), 0.1) + 0.5 * np.eye(3)
    precision, mean = np.linalg.inv(prior / 9), np.full(3, 1 / 3)
    information, target, weights = np.zeros((3, 3)), np.zeros(3), mean
    pulls: list[tuple[np.ndarray, float, float, Pull | None]] = []
    for t, person in enumerate(people(40)):
        if t >= window:
            change, expected, predictor, unrewarded = pulls[t - window]
            if unrewarded:
                factored.update(unrewarded, 0.0)
                odds = expected / (1 - expected)
                information += odds * np.outer(change, change)
                target += change * (odds + odds * predictor)
                weights = np.maximum(np.linalg.solve(information + precision, target + precision @ mean), 0)
        expected_of_all = factored._posteriors.mean.copy()
        if t % 10 == 9:
            expected_of_all = None
        pick = take(factored, person)
        change = np.abs(POINTS[pick.arm] - person)
        predictor = float(weights @ change)
        assert pick.execution == pytest.approx(math.exp(-predictor), rel=1e-9)
        known = factored.state()["odds"][-1]
        expected = known / (1 + known)
        if expected_of_all is not None:
            assert expected == pytest.approx(min(expected_of_all[pick.arm] * pick.execution, 0.98))
        pull, rewarded = Pull(t, pick.arm, pick.execution, pick.context), pick.arm % 3 == 0
        pulls.append((change, expected, predictor, None if rewarded else pull))
        if rewarded:
            factored.update(pull, 1.0)
            odds = expected / (1 - expected)
            information += odds * np.outer(change, change)
            target += change * (odds * predictor - 1)
            weights = np.maximum(np.linalg.solve(information + precision, target + precision @ mean), 0)


def weight_sums(factored: Factored) -> np.ndarray:
    state = factored.state()
    return np.array([*np.tril(state["information"]).ravel(), *state["target"]])


@pytest.mark.parametrize("reward", [0.0, 0.5, 1.0])
def test_a_late_reward_contributes_to_the_weights_as_one_in_time(reward: float) -> None:
    in_time, late = Factored(POINTS, 3), Factored(POINTS, 3)
    for factored in (in_time, late):
        pick = take(factored, people(1)[0])
        if factored is in_time:
            factored.update(Pull(0, pick.arm, pick.execution, pick.context), reward)
        skip(factored, 8)
    late.update(Pull(0, pick.arm, pick.execution, pick.context), reward)
    np.testing.assert_allclose(weight_sums(late), weight_sums(in_time), atol=1e-12)
    assert not len(late.state()["steps"])


def test_an_assumed_failure_is_weighted_by_current_estimates_without_its_own_contribution() -> None:
    """A pull's odds are those of a learner without the pull, under the same prior."""
    with_it, without = Factored(POINTS, 3), Factored(POINTS, 3)
    person = people(1)[0]
    for factored in (with_it, without):
        for t in range(9):
            pick = take(factored, person)
            factored.update(Pull(t, pick.arm, pick.execution, pick.context), float(t % 2))
    pick = take(with_it, person)
    skip(without)
    skip(with_it, 9)
    with_it._posteriors._prior[:] = without._posteriors._prior
    with_it._pending.reweight_failures(with_it._posteriors, with_it._t)
    expected = without._posteriors.mean[pick.arm] * math.exp(-with_it.state()["predictors"][-1])
    assert with_it.state()["odds"][-1] == pytest.approx(expected / (1 - expected))


def test_a_forgotten_pull_leaves_no_trace_in_the_weights_however_late() -> None:
    factored, pulls = Factored(POINTS, 3), []
    for t, person in enumerate(people(200)):
        pick = take(factored, person)
        pulls.append(Pull(t, pick.arm, pick.execution, pick.context))
        if t >= 50:
            factored.retract(pulls.pop(0))
    for pull in pulls:
        factored.retract(pull)
    np.testing.assert_allclose(weight_sums(factored), 0, atol=1e-9)
    np.testing.assert_allclose(factored._weights.weights, 1 / 3, atol=1e-9)


def test_pulls_beyond_the_memory_contribute_nothing_to_the_weights() -> None:
    factored = Factored(POINTS, 3, memory=5.0)
    pulls = []
    for t, person in enumerate(people(20)):
        pick = take(factored, person)
        pulls.append(Pull(t, pick.arm, pick.execution, pick.context))
    assert factored.state()["steps"].tolist() == [0, 1, 2, 3, 4]
    before = weight_sums(factored)
    factored.update(pulls[7], 1.0)
    assert (weight_sums(factored) == before).all()
    factored.update(pulls[2], 1.0)
    assert (weight_sums(factored) != before).any()
    take(factored, people(1)[0])
    assert factored.state()["steps"].tolist() == [0, 1, 3, 4, 20]


def shares_of_the_best(delay: int, seed: int, steps: int = 2000, candidates: int = 60) -> tuple[float, float]:
    """The shares of the best possible reward that Factored and Posterior earn, where rewards come after ``delay`` steps
    on average and rewards of 0 after five times as many."""
    return tuple(share_of_the_best(choice, delay, seed, steps, candidates) for choice in (Factored, Posterior))


def share_of_the_best(kind: type[Choice], delay: int, seed: int, steps: int, candidates: int) -> float:
    random = np.random.default_rng(seed)
    points = random.random((candidates, 8))
    chance = np.clip((random.random(candidates) < 0.75) + 0.1 * random.standard_normal(candidates), 0, 1)
    choice, due, earned, best = kind(points, 10), [], 0.0, 0.0
    for t in range(steps):
        while due and due[0][0] <= t:
            _, pull, reward = heapq.heappop(due)
            choice.update(pull, reward)
        person, feasible = random.random(8), np.flatnonzero(random.random(candidates) < 0.4)
        worth = np.exp(-np.abs(points - person).mean(axis=1)) * chance
        execution = np.exp(-np.abs(points - person).mean(axis=1))[feasible]
        pick = choice.choose(Options(person, feasible, points, feasible, execution), np.random.default_rng)
        earned, best = earned + worth[pick.arm], best + worth[feasible].max()
        news = int(random.geometric(1 / delay)) if random.random() < worth[pick.arm] else 5 * delay + 1
        late = news > 5 * delay
        pull = Pull(t, pick.arm, pick.execution, pick.context)
        heapq.heappush(due, (t + min(news, 5 * delay), pull, 0.0 if late else 1.0))
    return earned / best


@pytest.mark.parametrize("delay", [5, 50, 200])
def test_late_rewards_teach_the_weights_as_well(delay: int) -> None:
    """Rewards come long after the window of ten steps; Posterior observes the execution probabilities."""
    own, best = np.mean([shares_of_the_best(delay, seed) for seed in range(2)], axis=0)
    assert own > best - 0.02


def test_a_forgotten_pull_leaves_no_trace() -> None:
    shown, unseen = Factored(POINTS, 3), Factored(POINTS, 3)
    pick = take(unseen, people(1)[0])
    unseen.retract(Pull(0, pick.arm, pick.execution, pick.context))
    skip(shown, 6)
    skip(unseen, 5)
    left, right = shown.state(), unseen.state()
    for name in ("log_likelihood", "unrewarded", "information", "target"):
        np.testing.assert_allclose(left[name], right[name], atol=1e-12)


def test_learns_which_feature_is_hard_to_change() -> None:
    """No person changes the first feature; both arms improve people equally and are equally near."""
    points, both = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([0, 1])
    factored, options = Factored(points, 3), Options(np.array([0.5, 0.5]), both, points, both, np.zeros(2))
    for t in range(60):
        pick = factored.choose(options.only(t % 2), np.random.default_rng)
        assert pick is not None
        if pick.arm == 1:
            factored.update(Pull(t, 1, pick.execution), 1.0)
    first = factored.choose(options.only(0), np.random.default_rng)
    second = factored.choose(options.only(1), np.random.default_rng)
    assert first is not None
    assert second is not None
    assert first.execution < second.execution


def test_earns_more_without_execution_probabilities_than_linucb_with_noisy_ones() -> None:
    """The mean lead on eight paired worlds is at least three standard errors: by luck alone, once in a hundred."""
    worlds = [ToyWorld.draw_one(seed, noise=0.25) for seed in range(8)]
    lead = np.array(
        [
            world.mean_expected_reward(Factored(world.points, WINDOW))
            - world.mean_expected_reward(LinUCB(world.points, WINDOW, regularisation=40.0))
            for world in worlds
        ]
    )
    assert lead.mean() > 3.0 * lead.std(ddof=1) / math.sqrt(len(lead))
