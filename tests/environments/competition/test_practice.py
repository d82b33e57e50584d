"""The practice of goals plays the same competition as the benchmark, and counts the same shares."""

from __future__ import annotations

import numpy as np

from onward.environments.competition import Competition, CompetitionRules, GoalPractice, draw_world

WORLD, SETTINGS = draw_world(0), CompetitionRules(horizon=2)
GOALS = np.array([0.55, 0.65, 0.95])


def better(people: np.ndarray, goals: np.ndarray, difficulty: np.ndarray) -> np.ndarray:
    """The first feature as high as it gets."""
    targets = people.copy()
    targets[:, 1] = np.minimum(people[:, 1] + 0.3, 1.0)
    return targets


def test_shares_are_those_of_the_competition_that_is_played() -> None:
    practice = GoalPractice([WORLD], SETTINGS, [better], episodes=3, seed=4)
    practice.start(5)
    seed = practice._competition.seed
    played = [practice.step(GOALS) for _ in range(6)]

    competition, shares = Competition(WORLD, SETTINGS, episodes=3, seed=seed), []
    for t in range(7):
        applications = competition.arrivals(t)
        accepted = competition.best(t, applications)
        goals, targets = GOALS[applications.episode], better(applications.people, GOALS, competition.difficulty)
        outcomes = competition.close(t, accepted, goals, targets)
        shares.append((outcomes.reliability, outcomes.feasibility))
    for one, (reliability, feasibility) in zip(played, shares[1:], strict=True):
        assert np.array_equal(one.reliability, reliability, equal_nan=True)
        assert np.array_equal(one.feasibility, feasibility, equal_nan=True)
    assert any((feasibility > 0).any() for _, feasibility in shares)


def test_lessons_take_turns_through_the_worlds_and_repeat_exactly() -> None:
    worlds = [WORLD, draw_world(1)]
    practice = GoalPractice(worlds, SETTINGS, [better, better], episodes=2, seed=4)
    first, second, again = (practice.start(number)[0].newcomers for number in (0, 1, 0))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)
    practice.start(1)
    assert practice._competition.world is worlds[1]
