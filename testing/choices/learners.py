"""New learners of a choice, and simple people for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...agents.arrays import Array
from ...agents.choices import Choice
from ..laws import require, same_arrays
from .scripts import Life, ScriptStep

SMALL = {"memory": 8.0, "trees": 5.0}
"""Parameters, where a choice has them, with which a few steps reach its limits."""

GIVEN = {"features": 3}
"""The artefacts that programs give to choices."""


@dataclass(frozen=True)
class FreshLearners:
    """A choice, and the artefacts that it needs beside those of programs."""

    kind: type[Choice]
    artefacts: Mapping[str, Any] = field(default_factory=dict)

    def fresh(self, points: Array, **parameters: float) -> Choice:
        """A new learner with what it needs."""
        choice = self.kind(points, 3, **parameters)
        known = {**GIVEN, **self.artefacts}
        choice.equip(**{name: known[name] for name in self.kind.needs if name in known})
        return choice

    def small(self, points: Array) -> Choice:
        """The same with small parameters."""
        return self.fresh(points, **{name: SMALL[name] for name in SMALL.keys() & self.kind.parameters().keys()})

    def rewarded(self, steps: int, good: int = 3) -> Life:
        """A learner of four arms, of which only one is ever rewarded."""
        life = Life(self.fresh(apart(4)))
        for _ in range(steps):
            pick = life.take(everything(4, columns=4))
            life.choice.update(life.waiting.pop(), float(pick is not None and pick.arm == good))
        return life


def grid(candidates: int) -> Array:
    """Drawn arms of two columns."""
    return np.random.default_rng(candidates).random((candidates, 2))


def apart(candidates: int) -> Array:
    """Arms that are as different as possible."""
    return np.eye(candidates)


def everything(candidates: int, columns: int = 2, execution: float = 0.9) -> ScriptStep:
    """Somebody who has every arm as an option."""
    return ScriptStep(np.full(columns, 0.3), np.arange(candidates), np.full(candidates, execution))


def require_same_lives(one: Life, other: Life, what: str) -> None:
    """Require the same picks, pulls and state."""
    for step, picks in enumerate(zip(one.picks, other.picks, strict=True)):
        require(picks[0] == picks[1], f"{what} gives at step {step} the picks {picks[1]} and {picks[0]}")
    require(one.waiting == other.waiting, f"{what} gives picks of another `context` or `execution`")
    differs = state_difference(one.choice, other.choice)
    require(differs is None, f"{what} gives another array {differs} of the state")


def state_difference(one: Choice, other: Choice) -> str | None:
    """The array in which the states of two learners differ; None where they are the same, bit for bit."""
    return same_arrays(one.state(), other.state())
