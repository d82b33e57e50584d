from __future__ import annotations

import heapq
import math

import numpy as np
import pytest

from onward.agents.choices import Choice, Factored, LinUCB, Pick, Posterior, Pull
from onward.tests.support.toy_worlds import WINDOW, ToyWorld

POINTS = np.random.default_rng(0).random((12, 3))
ALL = np.arange(12)


def people(count: int) -> np.ndarray:
    return np.random.default_rng(1).random((count, 3))


def take(factored: Factored, person: np.ndarray) -> Pick:
    pick = factored.choose(person, ALL, np.zeros(12), np.random.default_rng)
    assert pick is not None
    return pick


def test_what_is_given_is_not_used() -> None:
    one, other = Factored(POINTS, 3), Factored(POINTS, 3)
    for person in people(50):
        low = one.choose(person, ALL, np.zeros(12), np.random.default_rng)
        high = other.choose(person, ALL, np.ones(12), np.random.default_rng)
        assert low == high


def test_starts_from_the_paper_s_execution_probability() -> None:
    person = np.array([0.1, 0.2, 0.3])
    pick = take(Factored(POINTS, 3), person)
    nearest = int(np.abs(POINTS - person).sum(axis=1).argmin())
    assert pick.candidate == nearest
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
            change, expected, effort, silent = pulls[t - window]
            if silent:
                factored.update(silent, 0.0)
                odds = expected / (1 - expected)
                information += odds * np.outer(change, change)
                target += change * (odds + odds * effort)
                weights = np.maximum(np.linalg.solve(information + precision, target + precision @ mean), 0)
        expected_of_all = factored._beliefs.mean.copy()
        if t % 10 == 9:
            expected_of_all = None
        pick = take(factored, person)
        change = np.abs(POINTS[pick.candidate] - person)
        effort = float(weights @ change)
        assert pick.execution == pytest.approx(math.exp(-effort), rel=1e-9)
        known = factored.state()["odds"][-1]
        expected = known / (1 + known)
        if expected_of_all is not None:
            assert expected == pytest.approx(min(expected_of_all[pick.candidate] * pick.execution, 0.98))
        pull, rewarded = Pull(t, pick.candidate, pick.execution), pick.candidate % 3 == 0
        pulls.append((change, expected, effort, None if rewarded else pull))
        if rewarded:
            factored.update(pull, 1.0)
            odds = expected / (1 - expected)
            information += odds * np.outer(change, change)
            target += change * (odds * effort - 1)
            weights = np.maximum(np.linalg.solve(information + precision, target + precision @ mean), 0)


def known_of_weights(factored: Factored) -> np.ndarray:
    state = factored.state()
    return np.array([*np.tril(state["information"]).ravel(), *state["target"]])


@pytest.mark.parametrize("reward", [0.0, 0.5, 1.0])
def test_a_reward_tells_of_the_weights_what_it_would_have_told_in_time(reward: float) -> None:
    in_time, late = Factored(POINTS, 3), Factored(POINTS, 3)
    nobody = (people(1)[0], ALL[:0], np.empty(0), np.random.default_rng)
    for factored in (in_time, late):
        pick = take(factored, people(1)[0])
        if factored is in_time:
            factored.update(Pull(0, pick.candidate, pick.execution), reward)
        for _ in range(8):
            factored.choose(*nobody)
    late.update(Pull(0, pick.candidate, pick.execution), reward)
    np.testing.assert_allclose(known_of_weights(late), known_of_weights(in_time), atol=1e-12)
    assert not len(late.state()["steps"])


def test_what_is_silent_is_a_failure_by_what_is_known_of_the_others_now() -> None:
    """A pull's odds are those of a learner to whom it did not happen, but for the prior, which is everybody's."""
    with_it, without = Factored(POINTS, 3), Factored(POINTS, 3)
    person = people(1)[0]
    for factored in (with_it, without):
        for t in range(9):
            pick = take(factored, person)
            factored.update(Pull(t, pick.candidate, pick.execution), float(t % 2))
    pick = take(with_it, person)
    without.choose(person, ALL[:0], np.empty(0), np.random.default_rng)
    for _ in range(9):
        with_it.choose(person, ALL[:0], np.empty(0), np.random.default_rng)
    with_it._beliefs._prior[:] = without._beliefs._prior
    with_it._silences.judge_anew(with_it._beliefs, with_it._t)
    expected = without._beliefs.mean[pick.candidate] * math.exp(-with_it.state()["efforts"][-1])
    assert with_it.state()["odds"][-1] == pytest.approx(expected / (1 - expected))


def test_of_what_is_never_seen_nothing_is_learned_however_late_that_is_heard() -> None:
    factored, pulls = Factored(POINTS, 3), []
    for t, person in enumerate(people(200)):
        pick = take(factored, person)
        pulls.append(Pull(t, pick.candidate, pick.execution))
        if t >= 50:
            factored.forget(pulls.pop(0))
    for pull in pulls:
        factored.forget(pull)
    np.testing.assert_allclose(known_of_weights(factored), 0, atol=1e-9)
    np.testing.assert_allclose(factored._efforts.weights, 1 / 3, atol=1e-9)


def test_while_many_are_silent_new_pulls_tell_nothing_of_the_weights() -> None:
    factored = Factored(POINTS, 3, memory=5.0)
    pulls = []
    for t, person in enumerate(people(20)):
        pick = take(factored, person)
        pulls.append(Pull(t, pick.candidate, pick.execution))
    assert factored.state()["steps"].tolist() == [0, 1, 2, 3, 4]
    before = known_of_weights(factored)
    factored.update(pulls[7], 1.0)
    assert (known_of_weights(factored) == before).all()
    factored.update(pulls[2], 1.0)
    assert (known_of_weights(factored) != before).any()
    take(factored, people(1)[0])
    assert factored.state()["steps"].tolist() == [0, 1, 3, 4, 20]


def shares_of_the_best(delay: int, seed: int, steps: int = 2000, candidates: int = 60) -> tuple[float, float]:
    """What Factored and Posterior earn of what is possible, where rewards come after so many steps on average and
    silence is told after five times as many."""
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
        pick = choice.choose(person, feasible, np.exp(-np.abs(points - person).mean(axis=1))[feasible], None)
        earned, best = earned + worth[pick.candidate], best + worth[feasible].max()
        news = int(random.geometric(1 / delay)) if random.random() < worth[pick.candidate] else 5 * delay + 1
        late = news > 5 * delay
        pull = Pull(t, pick.candidate, pick.execution)
        heapq.heappush(due, (t + min(news, 5 * delay), pull, 0.0 if late else 1.0))
    return earned / best


@pytest.mark.parametrize("delay", [5, 50, 200])
def test_rewards_that_come_late_teach_the_weights_as_well(delay: int) -> None:
    """It knows no execution probabilities, and hears after many times the ten steps of its window; Posterior knows."""
    own, told = np.mean([shares_of_the_best(delay, seed) for seed in range(2)], axis=0)
    assert own > told - 0.02


def test_what_was_never_seen_says_nothing() -> None:
    shown, unseen = Factored(POINTS, 3), Factored(POINTS, 3)
    pick = take(unseen, people(1)[0])
    unseen.forget(Pull(0, pick.candidate, pick.execution))
    shown.choose(people(1)[0], ALL[:0], np.empty(0), np.random.default_rng)
    for _ in range(5):
        shown.choose(people(1)[0], ALL[:0], np.empty(0), np.random.default_rng)
        unseen.choose(people(1)[0], ALL[:0], np.empty(0), np.random.default_rng)
    left, right = shown.state(), unseen.state()
    for name in ("evidence", "silent", "information", "target"):
        np.testing.assert_allclose(left[name], right[name], atol=1e-12)


def test_learns_which_feature_is_hard_to_change() -> None:
    """Whoever is asked to change the first feature never does; both candidates would help as much and are as near."""
    factored = Factored(np.array([[1.0, 0.5], [0.5, 1.0]]), 3)
    person, both = np.array([0.5, 0.5]), np.array([0, 1])
    for t in range(60):
        candidate = t % 2
        pick = factored.choose(person, both[candidate : candidate + 1], np.zeros(1), np.random.default_rng)
        assert pick is not None
        if candidate == 1:
            factored.update(Pull(t, 1, pick.execution), 1.0)
    first = factored.choose(person, both[:1], np.zeros(1), np.random.default_rng)
    second = factored.choose(person, both[1:], np.zeros(1), np.random.default_rng)
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
