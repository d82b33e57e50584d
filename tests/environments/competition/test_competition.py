"""The world of rounds with limited places."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from onward.environments.competition import (
    Competition,
    CompetitionPeople,
    CompetitionRules,
    attainability,
    draw_world,
    load_worlds,
    success_probability,
)
from onward.tests.support.reference_worlds import REFERENCE

SETTINGS = CompetitionRules(first=6, newcomers=4, places=3, horizon=3)
FROZEN = REFERENCE.parent / "durable" / "worlds.npz"


@pytest.fixture(scope="module")
def world() -> CompetitionPeople:
    return draw_world(3, rows=2000)


def halfway(competition: Competition, rounds: int) -> list[np.ndarray]:
    """Play rounds in which everybody is told to go half of the way to 1; the scores of the applicants."""
    scores = []
    for t in range(rounds):
        applications = competition.arrivals(t)
        scores.append(applications.score)
        targets = (1 + applications.people) / 2
        accepted = competition.best(t, applications)
        competition.close(t, accepted, competition.world.score(targets), targets)
    return scores


def test_the_same_seed_plays_the_same_and_another_one_does_not(world):
    one, same, other = (halfway(Competition(world, SETTINGS, episodes=3, seed=seed), 5) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(one, same, strict=True))
    assert (one[0] != other[0]).all()


def test_newcomers_are_the_same_whatever_is_recommended(world):
    def newcomers(horizon):
        competition = Competition(world, replace(SETTINGS, horizon=horizon), episodes=2, seed=4)
        halfway(competition, 4)
        applications = competition.arrivals(4)
        return applications.people[applications.new]

    assert (newcomers(1) == newcomers(3)).all()


def test_the_best_of_each_episode_get_the_places(world):
    competition = Competition(world, SETTINGS, episodes=4, seed=0)
    applications = competition.arrivals(0)
    accepted = competition.best(0, applications)
    for episode in range(4):
        mine = applications.episode == episode
        assert accepted[mine].sum() == 3
        assert applications.score[mine & accepted].min() >= applications.score[mine & ~accepted].max()
    assert not competition.best(0, applications, places=0).any()
    assert competition.best(0, applications, places=100).all()


def test_everybody_has_come_back_or_given_up_after_the_horizon(world):
    competition = Competition(world, replace(SETTINGS, newcomers=0), episodes=50, seed=0)
    applications = competition.arrivals(0)
    competition.close(0, np.zeros(300, bool), np.full(300, 0.99), applications.people)
    seen = []
    for t in range(1, 5):
        applications = competition.arrivals(t)
        seen.append(len(applications.score))
        assert (applications.lag == t).all()
        competition.close(t, np.ones(len(applications.score), bool), applications.score, applications.people)
    gap = 0.99 - competition.world.score(Competition(world, SETTINGS, episodes=50, seed=0).arrivals(0).people)
    stayed = np.exp(-competition.settings.rho * gap)
    assert sum(seen) == pytest.approx(stayed.sum(), abs=4 * np.sqrt((stayed * (1 - stayed)).sum()))
    assert seen[3] == 0


def test_changes_succeed_as_often_as_equation_8_says(world):
    """Fixed draws: four standard errors."""
    settings = replace(SETTINGS, first=3000, rho=0.0, chi=0.0, horizon=1, beta=0.3)
    competition = Competition(world, settings, episodes=1, seed=0)
    applications = competition.arrivals(0)
    targets = (1 + applications.people) / 2
    chance = success_probability(applications.people, targets, 0.3, competition.difficulty)
    competition.close(0, np.zeros(3000, bool), np.full(3000, 0.9), targets)
    changed = competition.state.people == targets
    spread = np.sqrt((chance * (1 - chance)).sum(axis=0))
    assert (np.abs(changed.sum(axis=0) - chance.sum(axis=0)) <= 4 * spread + 1e-9).all()


def test_a_change_of_nothing_is_sure_and_one_of_everything_is_impossible():
    people = np.array([[0.5, 0.0]])
    assert success_probability(people, people, 0.01, np.ones(2)).tolist() == [[1.0, 1.0]]
    assert attainability(people, np.array([[1.0, 1.0]])).tolist() == [[1.0, 0.0]]


def test_without_a_goal_a_person_comes_back_as_they_were(world):
    competition = Competition(world, replace(SETTINGS, chi=0.0), episodes=1, seed=0)
    first = competition.arrivals(0)
    competition.close(0, np.zeros(6, bool), np.full(6, np.nan), np.ones((6, 10)))
    again = competition.arrivals(1)
    assert (again.people[~again.new] == first.people).all()
    outcomes = competition.close(1, np.ones(10, bool), np.full(10, np.nan), again.people)
    assert outcomes.reached[0] == 0
    assert np.isnan(outcomes.reliability[0])
    assert outcomes.rejected[0] == 6


def test_rounds_are_opened_and_closed_in_turn(world):
    competition = Competition(world, SETTINGS, episodes=1, seed=0)
    applications = competition.arrivals(0)
    with pytest.raises(ValueError, match="round 1 cannot be opened"):
        competition.arrivals(1)
    close = (np.ones(6, bool), applications.score, applications.people)
    with pytest.raises(ValueError, match="round 1 cannot be closed"):
        competition.close(1, *close)
    competition.close(0, *close)
    with pytest.raises(ValueError, match="round 0 cannot be opened"):
        competition.arrivals(0)


def test_a_file_without_an_array_or_of_another_shape_is_explained(tmp_path):
    np.savez(tmp_path / "worlds.npz", mu=np.ones((2, 3)))
    with pytest.raises(ValueError, match="has no array 'sd'"):
        load_worlds(tmp_path / "worlds.npz")
    arrays = {name: np.ones((2, 3)) for name in ("mu", "sd", "lo", "hi", "coef")}
    np.savez(tmp_path / "worlds.npz", **arrays, intercept=np.ones(3))
    with pytest.raises(ValueError, match="must have one shape"):
        load_worlds(tmp_path / "worlds.npz")
