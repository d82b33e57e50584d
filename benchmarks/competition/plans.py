"""Recommenders of the benchmark: what they tell people for goals, and how probably it succeeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from onward.agents.candidates import recommenders
from onward.environments.competition import Recommender, Settings, World, success_probability

Floats = NDArray[np.float64]

Planner = Callable[[World, Settings], Recommender]
"""Makes a recommender for the people of a world."""


class Plans:
    """What a recommender tells people (n, D) who were turned down."""

    def __init__(self, recommender: Recommender, people: Floats, settings: Settings) -> None:
        self._recommend, self._people, self._settings = recommender, people, settings
        self._difficulty = np.array(settings.difficulty)

    def success(self, goals: Floats) -> Floats:
        """The probability (n, G) that each person reaches goals (n, G)."""
        people = np.repeat(self._people, goals.shape[1], axis=0)
        targets = self._recommend(people, goals.ravel(), self._difficulty)
        chance = success_probability(people, targets, self._settings.beta, self._difficulty).prod(axis=1)
        table: Floats = chance.reshape(goals.shape)
        return table

    def targets(self, goals: Floats) -> Floats:
        """What each person should become, (n, D), to reach goals (n,)."""
        return self._recommend(self._people, goals, self._difficulty)


def _planner(make: Callable[[Floats, Settings], recommenders.Recommender]) -> Planner:
    """A planner by a recommender of ``agents``, made for the difficulties (D,)."""
    box = recommenders.Bounds(np.zeros(1), np.ones(1))

    def planner(world: World, settings: Settings) -> Recommender:
        score = world.linear

        def recommend(people: Floats, goals: Floats, difficulty: Floats) -> Floats:
            return make(difficulty, settings).recommend(score, people, goals, box).targets

        return recommend

    return planner


DEFAULT = "maximal success"

PLANNERS: Mapping[str, Planner] = MappingProxyType(
    {
        DEFAULT: _planner(lambda difficulty, settings: recommenders.MaximalSuccess(settings.beta / difficulty)),
        "weighted L1": _planner(lambda difficulty, settings: recommenders.MinimalL1(difficulty)),  # noqa: ARG005
        "L2": _planner(lambda difficulty, settings: recommenders.MinimalL2()),  # noqa: ARG005
        "Wachter": _planner(lambda difficulty, settings: recommenders.Wachter()),  # noqa: ARG005
    }
)
"""Every recommender by name."""
