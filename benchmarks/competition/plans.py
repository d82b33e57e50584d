"""Recommenders of the benchmark: what they tell people for goals, and how probably it succeeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from onward.agents.candidates import recommenders
from onward.benchmarks.competition.recommenders import MinimalL1, MinimalL2, Wachter
from onward.environments.competition import (
    CompetitionPeople,
    CompetitionRules,
    PracticeRecommender,
    success_probability,
)

Floats = NDArray[np.float64]

Planner = Callable[[CompetitionPeople, CompetitionRules], PracticeRecommender]
"""Makes a recommender for the people of a world."""


class Plans:
    """What a planner of a world recommends to people (n, D) who were turned down."""

    def __init__(self, planner: Planner, world: CompetitionPeople, people: Floats, settings: CompetitionRules) -> None:
        self._recommend, self._world = planner(world, settings), world
        self._people, self._settings = people, settings
        self._difficulty = np.array(settings.difficulty)

    def success(self, goals: Floats) -> Floats:
        """The probability (n, G) that each person reaches goals (n, G)."""
        people = np.repeat(self._people, goals.shape[1], axis=0)
        targets = self._recommend(people, goals.ravel(), self._difficulty)
        table: Floats = self._chance(people, goals.ravel(), targets).reshape(goals.shape)
        return table

    def targets(self, goals: Floats) -> Floats:
        """What each person should become, (n, D), to reach goals (n,)."""
        return self._recommend(self._people, goals, self._difficulty)

    def chance(self, goals: Floats, targets: Floats) -> Floats:
        """The probability (n,) that each person reaches goals (n,) by becoming ``targets`` (n, D)."""
        return self._chance(self._people, goals, targets)

    def _chance(self, people: Floats, goals: Floats, targets: Floats) -> Floats:
        """That all changes succeed; 0 for who is told none and lacks something: the goal is out of their reach."""
        settings = self._settings
        lacks = goals > self._world.score(people) + settings.tolerance
        chance = success_probability(people, targets, settings.beta, self._difficulty).prod(axis=1)
        return np.where(lacks & (targets == people).all(axis=1), 0.0, chance)


def _planner(make: Callable[[Floats, CompetitionRules], recommenders.Recommender]) -> Planner:
    """A planner by a recommender of ``agents``, made for the difficulties (D,)."""
    box = recommenders.Bounds(np.zeros(1), np.ones(1))

    def planner(world: CompetitionPeople, settings: CompetitionRules) -> PracticeRecommender:
        score = world.linear

        def recommend(people: Floats, goals: Floats, difficulty: Floats) -> Floats:
            return make(difficulty, settings).recommend(score, people, goals, box).targets

        return recommend

    return planner


DEFAULT = "maximal success"

PLANNERS: Mapping[str, Planner] = MappingProxyType(
    {
        DEFAULT: _planner(lambda difficulty, settings: recommenders.MaximalSuccess(settings.beta / difficulty)),
        "weighted L1": _planner(lambda difficulty, settings: MinimalL1(difficulty)),  # noqa: ARG005
        "L2": _planner(lambda difficulty, settings: MinimalL2()),  # noqa: ARG005
        "Wachter": _planner(lambda difficulty, settings: Wachter()),  # noqa: ARG005
    }
)
"""Every recommender by name."""
