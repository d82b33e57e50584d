"""Exploration over every choice: exact propensities, and learners that count what was taken."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from onward.agents.choices import Choice, Exploration, Pull, Run, registry
from onward.agents.choices.exploration import take

SHARE, WINDOW, CANDIDATES = 0.5, 10, 4
POINTS = np.random.default_rng(0).random((CANDIDATES, 3))
FEASIBLE = np.array([0, 2, 3])
EXECUTION = np.array([0.4, 0.9, 0.7])


def person(t: int) -> np.ndarray:
    return np.random.default_rng(100 + t).random(3)


def warm(name: str) -> Choice:
    """A learner that has seen a success, so that none has to draw."""
    choice = registry[name](POINTS, WINDOW)
    for t in range(3):
        pick = choice.choose(person(t), FEASIBLE, EXECUTION, lambda t=t: np.random.default_rng(t))
        choice.update(Pull(t, pick.candidate, pick.execution), float(t == 0))
    return choice


@pytest.mark.parametrize("name", registry)
def test_every_candidate_is_taken_as_often_as_its_propensity_says(name: str) -> None:
    """A right propensity is refused once in 10,000 runs (3.9 standard errors)."""
    choice, tries = warm(name), 600
    before, taken, said = choice.state(), Counter(), {}
    for number in range(tries):
        choice.restore(before)
        coin = np.random.default_rng([1, number])
        pick = Exploration(choice, SHARE).choose(person(9), FEASIBLE, EXECUTION, lambda: np.random.default_rng(5), coin)
        taken[pick.candidate] += 1
        assert said.setdefault(pick.candidate, pick.propensity) == pick.propensity
    assert sum(said.values()) == pytest.approx(1.0)
    assert set(said) == set(FEASIBLE.tolist())
    for candidate, propensity in said.items():
        error = np.sqrt(propensity * (1 - propensity) / tries)
        assert abs(taken[candidate] / tries - propensity) < 3.9 * error


@pytest.mark.parametrize("name", registry)
def test_a_learner_counts_what_was_taken_as_its_own_pick(name: str) -> None:
    explored, forced = warm(name), warm(name)
    for t in range(3, 40):
        pick = Exploration(explored, SHARE).choose(
            person(t), FEASIBLE, EXECUTION, lambda t=t: np.random.default_rng(t), np.random.default_rng([2, t])
        )
        at = FEASIBLE.tolist().index(pick.candidate)
        greedy = pick.propensity > SHARE
        own = (
            forced.choose(person(t), FEASIBLE, EXECUTION, lambda t=t: np.random.default_rng(t))
            if greedy
            else take(forced, at, person(t), FEASIBLE, EXECUTION, lambda t=t: np.random.default_rng(t))
        )
        assert own[::2] == pick[::2]
        for choice in (explored, forced):
            choice.update(Pull(t, pick.candidate, pick.execution), float(t % 3 == 0))
    states = explored.state(), forced.state()
    assert all(np.array_equal(states[0][array], states[1][array]) for array in states[0])


def test_what_a_choice_draws_itself_stays() -> None:
    choice = registry["gp_ucb"](POINTS, WINDOW)
    taken = set()
    for t in range(30):
        generator = np.random.default_rng(t)
        pick = Exploration(choice, 1.0).choose(
            person(t), FEASIBLE, EXECUTION, lambda generator=generator: generator, np.random.default_rng([3, t])
        )
        assert pick.propensity == 1 / 3
        taken.add(pick.candidate)
    assert taken == set(FEASIBLE.tolist())


def test_a_run_is_its_steps_and_nobody_without_a_choice_needs_a_coin() -> None:
    ends = np.array([0, 3, 3, 4])
    run = Run(POINTS[:3], ends[:-1], ends[1:], np.array([0, 2, 3, 1]), np.array([0.4, 0.9, 0.7, 0.2]))
    coins = (np.random.default_rng([4, t]) for t in range(3))
    picks = Exploration(warm("linucb"), 1.0).choose_run(run, np.random.default_rng, coins)
    assert picks.places[0] in (0, 1, 2)
    assert picks.places[1:] == [-1, 3]
    assert picks.propensity == [pytest.approx(1 / 3), 0.0, 1.0]
