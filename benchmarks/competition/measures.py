"""The measures of a goal and a recommender in several worlds: one number an episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.goals import RoundGoal, round_registry
from onward.benchmarks.competition.plans import DEFAULT, PLANNERS, Planner
from onward.benchmarks.competition.play import Play
from onward.environments.competition import CompetitionPeople, CompetitionRules

Floats = NDArray[np.float64]

GoalOf = Callable[[float, int], RoundGoal]
"""Makes a goal of a coverage and a horizon."""


def _goal(name: str, offset: bool, coverage: float, horizon: int) -> RoundGoal:
    return round_registry[name](coverage, horizon, offset=offset)


DEFAULT_GOAL = "capacity + offset"

GOALS: Mapping[str, GoalOf] = MappingProxyType(
    {
        f"{name} + offset" if offset else name: partial(_goal, name, offset)
        for name, kind in round_registry.items()
        if not kind.needs
        for offset in (False, True)
    }
)
"""Every goal that needs no training, alone and with the conformal offset."""


class Measured(NamedTuple):
    """RR, RF, Gini index, score error and cost by episode (E,), and by round (R,) the mean RR, goal and threshold."""

    reliability: Floats
    feasibility: Floats
    gini: Floats
    error: Floats
    cost: Floats
    reliability_by_round: Floats
    goal_by_round: Floats
    threshold_by_round: Floats


@dataclass(frozen=True)
class Trials:
    """The worlds in which everything is measured, and how long."""

    worlds: Sequence[CompetitionPeople]
    episodes: int
    rounds: int
    seed: int

    def measure(
        self,
        settings: CompetitionRules,
        coverage: float = 0.95,
        goal: GoalOf = GOALS[DEFAULT_GOAL],
        planner: str | Planner = DEFAULT,
        first_round: int = 0,
        *,
        learns: bool = False,
    ) -> Measured:
        """Play all worlds; means over the rounds from ``first_round`` on. With ``learns`` difficulties are learned."""
        columns, make = [], PLANNERS[planner] if isinstance(planner, str) else planner
        for number, world in enumerate(self.worlds):
            play = Play(world, settings, make, self.episodes, self.rounds, self.seed + number, learns)
            columns.append(play.run(partial(goal, coverage, settings.horizon)))
        reliability, feasibility, own_goal, threshold, gini, error, cost = (
            np.concatenate([_by_episode(one, self.episodes) for one in column], axis=1)
            for column in zip(*columns, strict=True)
        )
        episodes = [_mean(array[first_round:]) for array in (reliability, feasibility, gini, error, cost)]
        return Measured(*episodes, *(_mean(array.T) for array in (reliability, own_goal, threshold)))


def _by_episode(values: Floats, episodes: int) -> Floats:
    """By round and episode, (R, E); what was measured by round alone is the same for every episode."""
    return values if values.ndim == 2 else np.repeat(values[:, None], episodes, axis=1)


def _mean(values: Floats) -> Floats:
    """The means over the first axis of the numbers that are there; NaN where none is."""
    there = np.isfinite(values)
    total, count = np.where(there, values, 0.0).sum(axis=0), there.sum(axis=0)
    means: Floats = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
    return means
