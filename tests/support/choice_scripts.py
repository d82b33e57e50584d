"""Random sequences of steps, rewards and unseen suggestions, and a player that applies them to a choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from onward.agents.choices import Choice, Pick, Pull
from onward.agents.options import Options
from onward.benchmarks.improvement.choices import Verifier

CELLS = [0.0, 0.25, 0.5, 1.0]
"""Few, so that arms often agree in some or all columns."""

EXTREMES = [0.0, 5e-324, 1e-9, 0.5, 1.0 - 2**-53, 1.0]
"""Execution probabilities at which rounding matters most."""

MANY = (40, 150)
"""Numbers of arms of which a choice samples only a part."""


def agreement(pairs: np.ndarray) -> np.ndarray:
    """A verifier's estimate: the closer two people are in the first column, the likelier is the same label."""
    estimate: np.ndarray = 1.0 - np.abs(pairs[:, 0] - pairs[:, pairs.shape[1] // 2])
    return estimate


def confidence(people: np.ndarray) -> np.ndarray:
    return people[:, 0]


VERIFIER = Verifier(agreement, confidence, tolerance=0.2)
"""Trusts some options, and for some people none."""

ARTEFACTS = {"verifier": VERIFIER, "features": 3}
"""All artefacts that a choice may need."""


@dataclass(frozen=True)
class Step:
    person: np.ndarray
    feasible: np.ndarray
    execution: np.ndarray

    def options(self, points: np.ndarray) -> Options:
        """Each feasible arm's target is its point."""
        return Options(self.person, self.feasible, points, self.feasible, self.execution)


@dataclass(frozen=True)
class Reward:
    """The reward of the pull ``back`` pulls ago; of none when there were fewer."""

    back: int
    reward: float


@dataclass(frozen=True)
class Unseen:
    back: int


@dataclass(frozen=True)
class Stray:
    """A reward or ``retract`` of a step that was never taken, had no pick, or was taken long ago."""

    step: int
    retract: bool


@dataclass(frozen=True)
class Script:
    points: np.ndarray
    lines: list[Step | Reward | Unseen | Stray]


NEWS = [Reward(back, reward) for back in range(1, 13) for reward in (0.0, 0.5, 1.0)] + list(map(Unseen, range(1, 13)))
STRAYS = [Stray(step, retract) for step in (0, 1, 10**6) for retract in (False, True)] * 2


@st.composite
def scripts(draw: st.DrawFn, fewest: int = 0, most: int = MANY[1], strays: bool = True) -> Script:
    """Few or many arms, and steps, rewards and unseen suggestions in any order."""
    few, many = st.integers(fewest, min(most, 5)), st.integers(MANY[0], max(most, MANY[0]))
    candidates, columns = draw(few | many if most >= MANY[0] else few), draw(st.integers(1, 3))
    lines = [None] * 60 + NEWS + (STRAYS if strays and candidates else [])
    plan = draw(st.lists(st.sampled_from(lines), max_size=25))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    points = generator.choice(CELLS, (candidates, columns))
    return Script(points, [line or any_step(generator, candidates, columns) for line in plan])


def any_step(generator: np.random.Generator, candidates: int, columns: int) -> Step:
    feasible = np.flatnonzero(generator.random(candidates) < generator.choice([0.1, 0.5, 0.9, 1.0]))
    usual, extreme = generator.random(len(feasible)), generator.choice(EXTREMES, len(feasible))
    execution = np.where(generator.random(len(feasible)) < 0.5, usual, extreme)
    return Step(generator.choice(CELLS, columns), feasible, execution)


@dataclass
class Life:
    """A learner with its first pick of each step, and the pulls that wait for a reward. ``most`` options are picked."""

    choice: Choice
    most: int = 1
    picks: list[Pick | None] = field(default_factory=list)
    waiting: list[Pull] = field(default_factory=list)

    def live(self, lines: list[Step | Reward | Unseen | Stray]) -> Life:
        for line in lines:
            match line:
                case Step():
                    self.take(line)
                case Reward(back, reward) if back <= len(self.waiting):
                    self.choice.update(self.waiting.pop(-back), reward)
                case Unseen(back) if back <= len(self.waiting):
                    self.choice.retract(self.waiting.pop(-back))
                case Stray(step, retract):
                    pull = Pull(step + len(self.picks) if step > 1 else step, 0, 0.5)
                    self.waiting = [known for known in self.waiting if known.step != pull.step]
                    self.choice.retract(pull) if retract else self.choice.update(pull, 1.0)
        return self

    def take(self, line: Step) -> Pick | None:
        step = len(self.picks)
        picks = self.choice.select(line.options(self.choice.points), self.most, generator_of(step))
        self.picks.append(picks[0] if picks else None)
        self.waiting += [Pull(step, pick.arm, pick.execution, pick.context) for pick in picks]
        return self.picks[-1]

    def continued_by(self, choice: Choice) -> Life:
        return Life(choice, self.most, list(self.picks), list(self.waiting))


def generator_of(step: int) -> Callable[[], np.random.Generator]:
    return lambda: np.random.default_rng(step)


def frozen(choice: Choice) -> dict[str, tuple[Any, ...]]:
    return {name: (array.shape, array.dtype, array.tobytes()) for name, array in choice.state().items()}
