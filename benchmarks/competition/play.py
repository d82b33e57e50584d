"""Plays a competition: goals observe the closed rounds of their episode, and a recommender plans for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.goals import Aim, Prospects, RoundGoal
from onward.benchmarks.competition.changes import ChangedSettings
from onward.benchmarks.competition.equality import gini
from onward.benchmarks.competition.learned import Learner
from onward.benchmarks.competition.plans import Planner, Plans
from onward.environments.competition import Competition, CompetitionPeople, CompetitionRules

Floats = NDArray[np.float64]


class Played(NamedTuple):
    """What came of it, by round and episode (R, E): RR, RF, the goals, the thresholds, and the Gini index of the scores
    that people are told; and by round (R,) the mean score error and cost of the targets."""

    reliability: Floats
    feasibility: Floats
    goal: Floats
    threshold: Floats
    gini: Floats
    error: Floats
    cost: Floats


@dataclass(frozen=True)
class Play:
    """The settings of plays of one world. With ``learns`` the recommender learns the difficulties, in one episode."""

    world: CompetitionPeople
    settings: CompetitionRules
    planner: Planner
    episodes: int = 10
    rounds: int = 100
    seed: int = 0
    learns: bool = False

    def __post_init__(self) -> None:
        if self.learns and self.episodes != 1:
            raise ValueError(f"difficulties are learned in one episode, and there are {self.episodes}")

    def run(self, goal: Callable[[], RoundGoal]) -> Played:
        """Play all rounds; each episode has a goal of its own."""
        competition = Competition(self.world, self.settings, episodes=self.episodes, seed=self.seed)
        people = self.settings.first + self.settings.newcomers * self.rounds
        predicted = np.zeros((self.episodes, people))
        goals = [goal() for _ in range(self.episodes)]
        if isinstance(self.settings, ChangedSettings) and self.settings.season:
            for one in goals:
                one.repeat_places(self.settings.season)
        learner = Learner(self.settings) if self.learns else None
        found = [self._round(t, competition, goals, predicted, learner) for t in range(self.rounds)]
        return Played(*(np.array(column) for column in zip(*found, strict=True)))

    def _round(
        self, t: int, competition: Competition, goals: list[RoundGoal], predicted: Floats, learner: Learner | None
    ) -> tuple[Floats, ...]:
        applications = competition.arrivals(t)
        accepted = competition.best(t, applications)
        if learner is not None:
            learner.observe(applications)
        believed = self.settings if learner is None else learner.believed
        plans = Plans(self.planner, self.world, applications.people[~accepted], believed)
        closed = competition.closed(t, applications, accepted)
        for goal, one in zip(goals, closed, strict=True):
            goal.observe(one)
        own_goals, without = self._own_goals(t, applications.episode[~accepted], competition, goals, plans, predicted)
        targets = plans.targets(own_goals)
        people = applications.people[~accepted]
        if learner is not None:
            learner.promise(applications.person[~accepted], people, targets)
        chance = plans.chance(own_goals, targets)
        predicted[applications.episode[~accepted], applications.person[~accepted]] = chance
        full = applications.people.copy()
        full[~accepted] = targets
        own = np.full(len(accepted), np.nan)
        own[~accepted] = own_goals
        outcomes = competition.close(t, accepted, own, full, without)
        score = self.world.score(targets)
        who = [applications.episode[~accepted] == episode for episode in range(self.episodes)]
        return (
            outcomes.reliability,
            outcomes.feasibility,
            np.array([own_goals[mine].mean() if mine.any() else np.nan for mine in who]),
            outcomes.threshold,
            np.array([gini(score[mine & (own_goals >= self.world.score(people))]) for mine in who]),
            _mean(np.abs(np.maximum(own_goals, self.world.score(people)) - score)),
            _mean(np.abs(targets - people) @ competition.difficulty),
        )

    def _own_goals(
        self,
        t: int,
        episode: NDArray[np.int64],
        competition: Competition,
        goals: list[RoundGoal],
        plans: Plans,
        predicted: Floats,
    ) -> tuple[Floats, tuple[int, ...]]:
        """The goals (n,) of those turned down, who are ordered by episode, and the rounds said to have no places.

        These are the same in every episode, as the places are.
        """
        announced = self.settings.announced if isinstance(self.settings, ChangedSettings) else 0
        places = [self.settings.places_of(t + after) for after in range(1, announced + 1)]
        aims = list[Aim]()
        if goals[0].needs_prospects:
            candidates = np.array([goal.candidates for goal in goals])
            success, state = plans.success(candidates[episode]), competition.state
            open_ = state.last > t - self.settings.horizon
            for number, goal in enumerate(goals):
                mine = open_ & (state.episode == number)
                promises = state.own_goal[mine], t + 1 - state.last[mine], predicted[number, state.person[mine]]
                aims.append(goal.aim(Prospects(success[episode == number], 1.0, *promises, places)))
        else:
            aims += [goal.aim(Prospects(places=places)) for goal in goals]
        return np.array([aim.score for aim in aims])[episode], aims[0].without


def _mean(values: Floats) -> Floats:
    """The mean, as an array without axes; NaN in a round in which nobody was turned down."""
    return np.array(values.mean() if len(values) else np.nan)
