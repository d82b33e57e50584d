"""A competition among people with names: what they send, and what they do with the answers they get."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ...agents.arrays import Array
from ...agents.candidates import recommenders
from ...agents.reached import reaches_score
from ..rounds import Worth
from .competition import Applications, Competition, Outcomes
from .rules import CompetitionRules, success_probability
from .world import CompetitionPeople

Targets = Mapping[str, float]
"""The features to change and their new values, by name."""


class Applicant(NamedTuple):
    """An application. Of those who come back, ``previous`` is their earlier one.

    Where that was answered with options, ``taken`` is the id of the one they tried, and ``reached`` says whether
    they come back with the score that they were told to reach.
    """

    application: str
    applicant: str
    features: Mapping[str, float]
    previous: str | None = None
    taken: str | None = None
    reached: bool = False


class Advice(NamedTuple):
    """What a rejected person is told: the score to reach, and options by id that lead to it.

    Without a goal there is no way forward. Without options the person's score is above the goal already.
    """

    goal: float | None
    options: Mapping[str, Targets] = MappingProxyType({})


class ChosenOption(NamedTuple):
    """The option that a person takes up: the probability that all of its changes succeed, whether it reaches the goal,
    and the sum of the changes."""

    success: float
    reaches: bool
    cost: float


class _Last(NamedTuple):
    """A person's last application, and the option taken since."""

    application: str
    taken: str | None


class Episode:
    """One episode of a competition, in which somebody else gives the places and answers the rejected.

        season = Season(world, Settings(), rounds=60, seed=0)
        while season.round < season.rounds:
            arrivals = season.open()
            taken = season.close(accepted, answers)      # names of applications, and answers by name

    Of several options a person takes the one that most probably succeeds. The season knows what answers are worth: it
    is a world of a ``Scoreboard``, for which answer number t is the t-th with a goal.
    """

    def __init__(self, world: CompetitionPeople, settings: CompetitionRules, *, rounds: int, seed: int) -> None:
        self.competition = Competition(world, settings, episodes=1, seed=seed)
        self.rounds, self.round = rounds, 0
        self.outcomes: list[Outcomes] = []
        """What became of the goals, by closed round."""
        self._names = feature_names(world)
        self._best: list[float] = []
        self._last: dict[int, _Last] = {}
        self._open: tuple[Applications, list[str]] | None = None

    @property
    def places(self) -> int:
        """The number of places of the next round."""
        return self.competition.settings.places_of(self.round)

    def open(self) -> list[Applicant]:
        """Who applies in the next round."""
        applications = self.competition.arrivals(self.round)
        persons = applications.person.tolist()
        names = [f"{person:05}-{self.round:04}" for person in persons]
        self._open = applications, names
        reached = applications.reached(self.competition.settings.tolerance)
        return [
            self._arrival(name, person, row, bool(has))
            for name, person, row, has in zip(names, persons, applications.people, reached, strict=True)
        ]

    def _arrival(self, name: str, person: int, row: Array, reached: bool) -> Applicant:
        features = dict(zip(self._names, row.tolist(), strict=True))
        last = self._last.get(person, _Last("", None))
        return Applicant(name, f"person-{person}", features, last.application or None, last.taken, reached)

    def close(self, accepted: Container[str], answers: Mapping[str, Advice]) -> list[ChosenOption | None]:
        """Close the round: these applications get a place, and each of the others has an answer.

        Return what people take up, in the order of the applications: None for those without a way forward. Those who
        need no change are left out.
        """
        if self._open is None:
            raise ValueError(f"round {self.round} cannot be closed: it is not open")
        applications, names = self._open
        goals, targets = np.full(len(names), np.nan), applications.people.copy()
        taken_up: list[ChosenOption | None] = []
        for row, name in enumerate(names):
            if name in accepted:
                continue
            person, answer = applications.people[row], answers[name]
            goals[row] = np.nan if answer.goal is None else answer.goal
            taken, targets[row] = self._easiest(person, answer.options)
            self._last[int(applications.person[row])] = _Last(name, taken)
            if answer.options or answer.goal is None:
                taken_up.append(self._taken(person, targets[row], answer.goal))
        place = np.array([name in accepted for name in names], dtype=np.bool_)
        self.outcomes.append(self.competition.close(self.round, place, goals, targets))
        left = set(self.competition.state.person.tolist())
        self._last = {person: last for person, last in self._last.items() if person in left}
        self._open, self.round = None, self.round + 1
        return taken_up

    def _easiest(self, person: Array, options: Mapping[str, Targets]) -> tuple[str | None, Array]:
        """The option that most probably succeeds for a person (D,), and what they then become, (D,)."""
        if not options:
            return None, person
        rows = np.repeat(person[np.newaxis], len(options), axis=0)
        for row, option in zip(rows, options.values(), strict=True):
            for feature, value in option.items():
                row[self._names.index(feature)] = value
        index = int(np.argmax(self._success(rows, person)))
        return list(options)[index], rows[index]

    def _taken(self, person: Array, target: Array, goal: float | None) -> ChosenOption | None:
        """What a person (D,) takes up; keep the best that they could have been told."""
        if goal is None:
            self._best.append(0.0)
            return None
        world, settings = self.competition.world, self.competition.settings
        recommender = recommenders.MaximalSuccess(settings.beta / self.competition.difficulty)
        box = recommenders.Bounds(np.zeros(1), np.ones(1))
        best = recommender.recommend(world.linear, person[np.newaxis], np.array([goal]), box).targets
        self._best.append(float(self._success(best, person)[0]))
        reaches = reaches_score(float(world.score(target[np.newaxis])[0]), goal, settings.tolerance)
        return ChosenOption(
            float(self._success(target[np.newaxis], person)[0]), reaches, float(np.abs(target - person).sum())
        )

    def _success(self, targets: Array, person: Array) -> Array:
        """The probabilities (n,) that a person (D,) carries out targets (n, D), all of their changes."""
        beta, difficulty = self.competition.settings.beta, self.competition.difficulty
        return np.asarray(success_probability(person, targets, beta, difficulty).prod(axis=1))

    # --- what answers are worth -------------------------------------------------------------------------------------

    def oracle(self, t: int) -> float:
        """The largest probability with which person t could succeed; 0 for a person without a way forward."""
        return self._best[t]

    def worth(self, t: int, taken: ChosenOption) -> Worth:
        """The probability that the person comes to the goal, whether the option leads there, and the sum of changes."""
        return Worth(taken.success if taken.reaches else 0.0, float(taken.reaches), taken.cost)


def feature_names(world: CompetitionPeople) -> list[str]:
    """The names of the features, D of them."""
    return [f"feature_{number}" for number in range(1, len(world.coef) + 1)]


def mean_of_rounds(values: Sequence[Array]) -> float | None:
    """The mean over the rounds that have a value; None without any."""
    every = np.concatenate([*values, np.empty(0)])
    there = every[np.isfinite(every)]
    return float(there.mean()) if len(there) else None
