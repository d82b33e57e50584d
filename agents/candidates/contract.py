"""The contract of candidate generators, which propose what people could change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np

from ..arrays import Array as Array
from ..arrays import Indices as Indices
from ..arrays import Mask as Mask
from ..consequences import Consequences, Examined
from ..goals import Goal
from ..objective import Objective as Objective
from ..parameters import Parametrised
from ..rounding import ROUNDING
from ..scores import LinearScore as LinearScore
from ..scores import Score as Score
from .components.ranges import Ranges as Ranges

Mutable = Literal["none", "up", "down", "any"]


class Space(NamedTuple):
    """The changes that people may make: D encoded columns of F features.

    ``feature_of`` (D,) is the feature of each column; a feature of several columns is one-hot. The raw value of a
    column is ``low + x scale`` (D,), for an ordinal feature its rank. ``mutable`` (F,), ``smallest_change`` (F,), raw
    and 0 where any change will do, and ``digits`` (F,), the decimal places of raw values, are rules of each feature.
    ``max_changes`` is the most features that may change, None for all. ``allowed`` says which encoded rows (n, D) keep
    the cross-feature constraints, (n,). ``feature_names`` (F,) are for explanations. ``ranges`` say how far each
    feature may go. ``largest_step`` (F,), raw, is the most that one step of a plan changes; None where there is no such
    rule. ``units`` (F,) are those of raw values in words, None where a feature, or all, have none. ``consequences`` are
    what follows from changes, None where nothing does: targets are the states in which people will be.
    """

    feature_of: Indices
    low: Array
    scale: Array
    mutable: Sequence[Mutable]
    smallest_change: Array
    digits: Sequence[int]
    max_changes: int | None
    allowed: Callable[[Array], Mask]
    feature_names: Sequence[str]
    ranges: Ranges
    largest_step: Array | None = None
    units: Sequence[str | None] | None = None
    consequences: Consequences | None = None

    def examined(self, states: Array, people: Array) -> Examined:
        """The examined states (R, D) in which people (R, D) will be, where something follows from changes."""
        assert self.consequences is not None, "nothing follows from changes"
        return self.consequences.examined(states, people, self.ranges.lowest, self.ranges.highest)

    def largest_changes(self, people: Array) -> Array:
        """The largest change of each column, encoded, that encoded people (n, D) are asked for: (n, D)."""
        first = np.searchsorted(self.feature_of, np.arange(len(self.mutable)))
        raw = (self.low + people * self.scale)[:, first]
        return self.ranges.largest(raw)[:, self.feature_of] / self.scale + ROUNDING


class Proposals(NamedTuple):
    """P options of n people: the numbers of their people and their arms (P,), and their targets.

    The target of option i is ``points[point[i]]``, with ``points`` (M, D) and ``point`` (P,). A generator proposes them
    by person, then by arm.
    """

    people: Indices
    arm: Indices
    points: Array
    point: Indices

    @classmethod
    def from_targets(cls, people: Indices, arm: Indices, targets: Array) -> Proposals:
        """Options with targets (P, D) of their own."""
        return cls(people, arm, targets, np.arange(len(people)))

    @classmethod
    def none(cls, people: Array) -> Proposals:
        """No option of encoded people (n, D)."""
        return cls.from_targets(np.zeros(0, np.intp), np.zeros(0, np.intp), people[:0])

    @classmethod
    def joined(cls, parts: Sequence[Proposals]) -> Proposals:
        """All options of the parts, in their order."""
        people, arm, targets = zip(*((part.people, part.arm, part.targets) for part in parts), strict=True)
        return cls.from_targets(np.concatenate(people), np.concatenate(arm), np.concatenate(targets))

    @property
    def targets(self) -> Array:
        """The targets (P, D)."""
        return self.points[self.point]

    def subset(self, rows: Indices | Mask) -> Proposals:
        """Some of the options."""
        return Proposals(self.people[rows], self.arm[rows], self.points, self.point[rows])

    def ordered(self) -> Proposals:
        """The same by person, then by arm."""
        order = np.lexsort((self.arm, self.people))
        return Proposals.from_targets(self.people[order], self.arm[order], self.targets[order])


class Explanation(NamedTuple):
    """Why a person has no option: the rule that excluded the last candidates, and where it does so.

    All words are for the program's owners: ``detail``, what stands in the way, ``advice``, which other rules would
    help, and ``scores``, which one is required and which is the best. ``nearest`` is the allowed target (D,) of the
    best score, where one is known.
    """

    reason: str
    detail: str
    advice: str = ""
    scores: str = ""
    nearest: Array | None = None


class PlanSteps(NamedTuple):
    """The k steps to a target: the ``feature`` of each (k,), the encoded rows after each (k, D), and its cost (k,)."""

    feature: Indices
    rows: Array
    cost: Array


class CandidateGenerator(Parametrised, ABC):
    """Proposes options for people, each with the arm that a choice learns about.

    A generator is deterministic. It never proposes a target that the rules forbid. A person's options do not depend on
    the others in the batch. A parameter is a keyword of the constructor, declared once, as
    ``name: Annotated[float, Interval(...)] = default``. ``onward.testing.check_generator`` checks it: for a
    person of 51 features a generator scores at most some 15,000 rows, and no two options change the same features. Only
    one that ``copies_instances`` may propose such options.
    """

    name: ClassVar[str]
    """What a program spec's ``policy.generator`` calls it."""

    copies_instances: ClassVar[bool] = False
    """Whether every target is an instance itself: ``point`` is then the instance's number."""

    needs_linear_score: ClassVar[bool] = False
    """Whether it works under a ``LinearScore`` alone."""

    aims_at_goal: ClassVar[bool] = True
    """Whether it looks for targets that reach whatever score is required. Else they are given, and few may reach more
    than the threshold that they were chosen by."""

    knows_consequences: ClassVar[bool] = False
    """Whether its targets are the states in which people will be, with all that follows from what they do."""

    uses_instances: ClassVar[bool] = True
    """Whether it looks at the ``instances`` of ``build``, which are rows of real people: else bundles hold none."""

    arms: Array
    """The arms as choices know them, encoded, shape (K, D). They are fixed for a program's life."""

    @classmethod
    @abstractmethod
    def build(cls, space: Space, instances: Array, objective: Objective, **parameters: float) -> Self:
        """The generator of a program. Call ``under`` before anything is proposed.

        ``instances`` (K, D) are encoded rows that the program's first model accepts. Options are compared by the
        ``objective``. Where it has an improvement, the arms are those of a program whose options are to help.
        """

    @abstractmethod
    def under(self, score: Score, goal: Goal, objective: Objective | None = None) -> Self:
        """The same arms under a model: its scores of options must reach the goal.

        The ``objective`` is the one under this model, by default that of ``build``.
        """

    def with_difficulty(self, difficulty: Array, beta: float) -> Self:  # few generators use them
        """The same, knowing how hard each feature is to change, (F,), and how likely changes succeed."""
        return self

    @abstractmethod
    def propose(self, people: Array) -> Proposals:
        """The options of encoded people, shape (n, D)."""

    @abstractmethod
    def explain(self, person: Array) -> Explanation:
        """Why a person, shape (D,), has no option. Raise ``ValueError`` when there is one."""

    def reaching(self, person: Array) -> Array:
        """The targets of a person (D,) that keep the rules and reach the goal, (R, D).

        These are the targets that are proposed; where there are none, the one below the floor that helps most.
        """
        return self.propose(person[np.newaxis]).targets

    @classmethod
    def plans_steps(cls) -> bool:
        """Whether its options are plans of steps."""
        return cls.steps_to is not CandidateGenerator.steps_to

    def steps_to(self, person: Array, target: Array) -> PlanSteps | None:  # for those that plan steps
        """The steps of a person (D,) to a target (D,); None where options are no plans of steps."""
        return None
