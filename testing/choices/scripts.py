"""Drawn sequences of steps, rewards and unseen suggestions, and a player that applies them to a choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...agents.arrays import Array, Indices
from ...agents.choices import Choice, Pick, Pull
from ...agents.options import OptionBatch, Options

CELLS = [0.0, 0.25, 0.5, 1.0]
"""Few, so that arms often agree in some or all columns."""

EXTREMES = [0.0, 5e-324, 1e-9, 0.5, 1.0 - 2**-53, 1.0]
"""Execution probabilities at which rounding matters most."""

MANY = (40, 150)
"""Numbers of arms of which a choice samples only a part."""

LONGEST = 25
"""The most lines of a script."""


@dataclass(frozen=True)
class ScriptStep:
    """A person, the arms that they have as options, and the execution probability of each."""

    person: Array
    feasible: Indices
    execution: Array

    def options(self, points: Array) -> Options:
        """Each feasible arm's target is its point."""
        return Options(self.person, self.feasible, points, self.feasible, self.execution)


@dataclass(frozen=True)
class PullReward:
    """The reward of the pull ``back`` pulls ago; of none when there were fewer."""

    back: int
    reward: float


@dataclass(frozen=True)
class Unseen:
    """The pull ``back`` pulls ago, which its person never saw."""

    back: int


@dataclass(frozen=True)
class Stray:
    """A reward or ``retract`` of a step that was never taken, had no pick, or was taken long ago."""

    step: int
    retract: bool


Line = ScriptStep | PullReward | Unseen | Stray


@dataclass(frozen=True)
class Script:
    """The points of arms, and what happens."""

    points: Array
    lines: list[Line]

    @property
    def steps(self) -> list[ScriptStep]:
        """The steps alone."""
        return [line for line in self.lines if isinstance(line, ScriptStep)]


NEWS = [PullReward(back, reward) for back in range(1, 13) for reward in (0.0, 0.5, 1.0)] + list(
    map(Unseen, range(1, 13))
)
STRAYS = [Stray(step, retract) for step in (0, 1, 10**6) for retract in (False, True)] * 2


def drawn(seed: int, fewest: int = 0, most: int = MANY[1], *, strays: bool = True) -> Script:
    """Few or many arms, and steps, rewards and unseen suggestions in any order."""
    random = np.random.default_rng(seed)
    many = most >= MANY[0] and random.random() < 0.4
    candidates = random.integers(MANY[0], most + 1) if many else random.integers(fewest, min(most, 5) + 1)
    points = random.choice(CELLS, (int(candidates), random.integers(1, 4)))
    others: list[Line | None] = [*NEWS, *(STRAYS if strays and candidates else [])]
    lines = [None] * 60 + others
    plan = [lines[k] for k in random.integers(0, len(lines), random.integers(0, LONGEST + 1))]
    return Script(points, [any_step(random, *points.shape) if line is None else line for line in plan])


def any_step(random: np.random.Generator, candidates: int, columns: int) -> ScriptStep:
    """A person with some, all or none of the options."""
    feasible = np.flatnonzero(random.random(candidates) < random.choice([0.1, 0.5, 0.9, 1.0]))
    usual, extreme = random.random(len(feasible)), random.choice(EXTREMES, len(feasible))
    execution = np.where(random.random(len(feasible)) < 0.5, usual, extreme)
    return ScriptStep(random.choice(CELLS, columns), feasible, execution)


def batch_of(steps: Sequence[ScriptStep], points: Array) -> OptionBatch:
    """The people of some steps at once."""
    ends = np.cumsum([0, *(len(step.feasible) for step in steps)])
    people = np.array([step.person for step in steps]).reshape(len(steps), points.shape[1])
    feasible = np.concatenate([np.empty(0, dtype=np.intp), *(step.feasible for step in steps)])
    execution = np.concatenate([np.empty(0), *(step.execution for step in steps)])
    return OptionBatch(people, ends[:-1], ends[1:], feasible, points, feasible, 1.0 - execution, execution)


@dataclass
class Life:
    """A learner with its first pick of each step, and the pulls that wait for a reward. ``most`` options are picked."""

    choice: Choice
    most: int = 1
    picks: list[Pick | None] = field(default_factory=list)
    waiting: list[Pull] = field(default_factory=list)

    def live(self, lines: Sequence[Line]) -> Life:
        """Play the lines."""
        for line in lines:
            match line:
                case ScriptStep():
                    self.take(line)
                case PullReward(back, reward) if back <= len(self.waiting):
                    self.choice.update(self.waiting.pop(-back), reward)
                case Unseen(back) if back <= len(self.waiting):
                    self.choice.retract(self.waiting.pop(-back))
                case Stray(step, retract):
                    pull = Pull(step + len(self.picks) if step > 1 else step, 0, 0.5)
                    self.waiting = [known for known in self.waiting if known.step != pull.step]
                    self.choice.retract(pull) if retract else self.choice.update(pull, 1.0)
        return self

    def take(self, line: ScriptStep) -> Pick | None:
        """Take a step; return the first pick."""
        step = len(self.picks)
        picks = self.choice.select(line.options(self.choice.points), self.most, generator_of(step))
        self.picks.append(picks[0] if picks else None)
        self.waiting += [Pull(step, pick.arm, pick.execution, pick.context) for pick in picks]
        return self.picks[-1]

    def continued_by(self, choice: Choice) -> Life:
        """The same history with another learner."""
        return Life(choice, self.most, list(self.picks), list(self.waiting))

    def share_of(self, arm: int, since: int) -> float:
        """The share of an arm among the picks since a step."""
        picks = self.picks[since:]
        return sum(pick is not None and pick.arm == arm for pick in picks) / len(picks)


def generator_of(step: int) -> Callable[[], np.random.Generator]:
    """The random generator of a step."""
    return lambda: np.random.default_rng(step)
