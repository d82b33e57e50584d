from __future__ import annotations

import math

import numpy as np
import pytest
from toy_worlds import WINDOW, ToyWorld

from onward.agents.choices import Factored, LinUCB, Pick, Pull

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
    pulls: list[tuple[np.ndarray, float, float, bool]] = []
    for t, person in enumerate(people(40)):
        if t >= window:
            change, expected, effort, rewarded = pulls[t - window]
            if not rewarded:
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
        learned = factored.state()["expected"][t % window]
        if expected_of_all is not None:
            assert learned == expected_of_all[pick.candidate]
        expected = min(learned * pick.execution, 0.98)
        rewarded = pick.candidate % 3 == 0
        pulls.append((change, expected, effort, rewarded))
        if rewarded:
            factored.update(Pull(t, pick.candidate, pick.execution), 1.0)
            odds = expected / (1 - expected)
            information += odds * np.outer(change, change)
            target += change * (odds * effort - 1)
            weights = np.maximum(np.linalg.solve(information + precision, target + precision @ mean), 0)


def test_a_late_reward_counts_for_the_candidate_only() -> None:
    factored = Factored(POINTS, 3)
    picks = [take(factored, person) for person in people(10)]
    before = factored.state()
    factored.update(Pull(2, picks[2].candidate, picks[2].execution), 1.0)
    after = factored.state()
    assert (after["evidence"] != before["evidence"]).any()
    assert all((after[name] == before[name]).all() for name in ("information", "target", "steps"))


def test_what_was_never_seen_says_nothing() -> None:
    shown, unseen = Factored(POINTS, 3), Factored(POINTS, 3)
    pick = take(unseen, people(1)[0])
    unseen.forget(Pull(0, pick.candidate, pick.execution))
    shown.choose(people(1)[0], ALL[:0], np.empty(0), np.random.default_rng)
    for _ in range(5):
        shown.choose(people(1)[0], ALL[:0], np.empty(0), np.random.default_rng)
        unseen.choose(people(1)[0], ALL[:0], np.empty(0), np.random.default_rng)
    left, right = shown.state(), unseen.state()
    for name in ("evidence", "silent", "information", "target", "steps"):
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
