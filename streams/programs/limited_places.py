"""Programs whose places are limited: the goal of their rounds, and what it needs of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agents import goals
from ...agents.goals import Goal, RoundGoal
from ...schemas.spec import ProgramSpec
from .bundle.loader import ModelBundle

NO_ARTEFACT = "{} has no {}, which `goal: {}` needs: make a new one with `--{} FILE`"


def closes_rounds(spec: ProgramSpec) -> bool:
    """Whether a program's places are limited, and given in rounds."""
    return spec.policy.goal in goals.round_registry


def goal_kind(name: str) -> type[Goal | RoundGoal] | None:
    """The goal of a name, for rounds or without; None where there is none."""
    return goals.round_registry.get(name) or goals.registry.get(name)


def round_goal(spec: ProgramSpec) -> RoundGoal:
    """A goal for a program's rounds that has seen none. It is equipped before it says a score (``equip_goal``)."""
    capacity, policy = spec.capacity, spec.policy
    assert capacity is not None, f"{spec.program} has a goal for rounds and no capacity"
    kind = goals.round_registry[policy.goal]
    parameters: dict[str, Any] = {**policy.goal_parameters}
    if capacity.offset is not None:
        parameters["offset"] = capacity.offset
    goal = kind(capacity.coverage, capacity.horizon, **parameters)
    if isinstance(capacity.season, int):
        goal.repeat_places(capacity.season)
    return goal


def round_score(spec: ProgramSpec, accepted: NDArray[np.float64]) -> float | None:
    """A score that a round of a program may ask for, by the scores of people whom the model accepts (n,).

    Where the goal has none of its own it is the median: that of rounds with places for half of them. It is None in a
    program without rounds, and where nobody is accepted.
    """
    if not closes_rounds(spec):
        return None
    constant = round_goal(spec).constant_score
    return constant if constant is not None or not len(accepted) else float(np.median(accepted))


def needed_for_rounds(spec: ProgramSpec) -> frozenset[str]:
    """The artefacts of a model that the goal of a program's rounds needs."""
    return goals.round_registry[spec.policy.goal].needs if closes_rounds(spec) else frozenset()


def lacks_for_rounds(spec: ProgramSpec, artefact: Callable[[str], Any], model: str) -> str | None:
    """The ``artefact`` of a ``model`` that the goal of a program's rounds misses, in one line; None for none."""
    for name in sorted(needed_for_rounds(spec)):
        if artefact(name) is None:
            flag = name.replace("_", "-")
            return NO_ARTEFACT.format(model, name.replace("_", " "), spec.policy.goal, flag)
    return None


def equip_goal(goal: RoundGoal, bundle: ModelBundle) -> None:
    """Give a goal for rounds the artefacts of the model under which a round is closed."""
    goal.equip(**{name: bundle.artefact(name) for name in goal.needs})
