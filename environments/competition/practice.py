"""A competition in which goals are tried, for training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ...agents.arrays import Array, Mask
from ...agents.goals import ClosedRound
from ...agents.goals.sac_training import PlayedRounds
from .competition import Applications, Competition, share
from .rules import CompetitionRules
from .world import CompetitionPeople


class PracticeRecommender(Protocol):
    """Says what each person should become."""

    def __call__(self, people: Array, goals: Array, difficulty: Array) -> Array:
        """The targets (n, D) at which people (n, D) reach the scores ``goals`` (n,); ``difficulty`` has shape (D,)."""


class GoalPractice:
    """Episodes of a competition, one round at a time: everybody who is turned down in an episode is told its goal.

    Parameters
    ----------
    worlds
        They take turns.
    settings
        Of the competition.
    recommenders
        What plans for the goals, one a world.
    episodes
        How many are played side by side.
    seed
        Of the people. Evaluations of the same worlds need another one.
    """

    def __init__(
        self,
        worlds: Sequence[CompetitionPeople],
        settings: CompetitionRules,
        recommenders: Sequence[PracticeRecommender],
        episodes: int,
        seed: int,
    ) -> None:
        self._worlds, self._settings, self._recommenders = worlds, settings, recommenders
        self._episodes, self._seed = episodes, seed
        self.start(0)

    def start(self, number: int) -> list[ClosedRound]:
        """Begin new episodes, the same for the same number; return their first rounds."""
        turn = number % len(self._worlds)
        seed = int(np.random.SeedSequence([self._seed, number]).generate_state(1)[0])
        self._recommend = self._recommenders[turn]
        self._competition = Competition(self._worlds[turn], self._settings, episodes=self._episodes, seed=seed)
        return self._open(0)

    def step(self, goals: Array) -> PlayedRounds:
        """Tell the goals (E,) to those who are turned down, and play on to the next round."""
        t, applications, accepted = self._round
        own_goals, targets = np.full(len(accepted), np.nan), applications.people.copy()
        own_goals[~accepted] = goals[applications.episode[~accepted]]
        targets[~accepted] = self._recommend(
            applications.people[~accepted], own_goals[~accepted], self._competition.difficulty
        )
        self._competition.close(t, accepted, own_goals, targets)
        turned_down = np.bincount(self._competition.state.episode, minlength=self._episodes)
        closed = self._open(t + 1)
        reached, accepted_of_them = (
            np.array([mask.sum() for mask in masks])
            for masks in (
                [result.reached for result in closed],
                [result.reached & result.accepted for result in closed],
            )
        )
        return PlayedRounds(closed, share(accepted_of_them, reached), share(reached, turned_down))

    def _open(self, t: int) -> list[ClosedRound]:
        applications = self._competition.arrivals(t)
        accepted = self._competition.best(t, applications)
        self._round: tuple[int, Applications, Mask] = t, applications, accepted
        return self._competition.closed(t, applications, accepted)
