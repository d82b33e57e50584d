"""New learners of a choice, and simple people for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import settings

from onward.agents.choices import Choice
from onward.tests.support.choice_scripts import ARTEFACTS, Life, Step

SMALL = {"memory": 8.0, "trees": 5.0}
"""Parameters, where a choice has them, with which a few steps reach its limits."""

Make = Callable[..., Choice]

always = settings(max_examples=30, deadline=None)


def fresh(kind: type[Choice], points: np.ndarray, **given: float) -> Choice:
    """A new learner with what it needs."""
    choice = kind(points, 3, **given)
    choice.equip(**{name: ARTEFACTS[name] for name in kind.needs})
    return choice


def grid(candidates: int) -> np.ndarray:
    return np.random.default_rng(candidates).random((candidates, 2))


def apart(candidates: int) -> np.ndarray:
    """Arms that are as different as possible."""
    return np.eye(candidates)


def everything(candidates: int, columns: int = 2, execution: float = 0.9) -> Step:
    return Step(np.full(columns, 0.3), np.arange(candidates), np.full(candidates, execution))


def rewarded(choice: Choice, steps: int, good: int = 3) -> Life:
    """Only one of its four arms is ever rewarded."""
    life = Life(choice)
    for _ in range(steps):
        pick = life.take(everything(4, columns=4))
        life.choice.update(life.waiting.pop(), float(pick is not None and pick.arm == good))
    return life
