"""Recommenders of the benchmark: what they tell people for goals, and how probably it succeeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from onward.benchmarks.competition.l2 import l2_targets
from onward.benchmarks.competition.max_success import MaxSuccess
from onward.environments.competition import Recommender, Settings, World, success_probability

Floats = NDArray[np.float64]


class Plans(Protocol):
    """What can be told to people who were turned down."""

    def success(self, goals: Floats) -> Floats:
        """The probability (n, G) that each person reaches goals (n, G)."""

    def targets(self, goals: Floats) -> Floats:
        """What each person should become, (n, D), to reach goals (n,)."""


Planner = Callable[[World, Floats, Settings], Plans]
"""Makes the plans of people (n, D)."""


class PlansOf:
    """The plans of any recommender: one call for all goals."""

    def __init__(self, recommender: Callable[[World], Recommender], world: World, people: Floats, s: Settings) -> None:
        self.recommend, self.people, self.beta, self.difficulty = recommender(world), people, s.beta, np.array(s.difficulty)

    def success(self, goals: Floats) -> Floats:
        """The probability (n, G) that each person reaches goals (n, G)."""
        people = np.repeat(self.people, goals.shape[1], axis=0)
        targets = self.recommend(people, goals.ravel(), self.difficulty)
        chance: Floats = success_probability(people, targets, self.beta, self.difficulty).prod(axis=1)
        return chance.reshape(goals.shape)

    def targets(self, goals: Floats) -> Floats:
        """What each person should become, (n, D), to reach goals (n,)."""
        return self.recommend(self.people, goals, self.difficulty)


def _l2(world: World) -> Recommender:
    return lambda people, goals, difficulty: l2_targets(world, people, goals)  # noqa: ARG005


DEFAULT = "max success"

PLANNERS: Mapping[str, Planner] = MappingProxyType({DEFAULT: MaxSuccess, "L2": partial(PlansOf, _l2)})
"""Every recommender by name."""
