"""A generator: change one numeric feature as far as it may go. Its arms are the features."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

import numpy as np

from onward.agents.candidates import CandidateGenerator, Explanation, Proposals, Space, registry
from onward.agents.candidates.contract import Array, Mask, Objective, Score
from onward.agents.goals import Goal, ThresholdGoal
from onward.agents.parameters import Interval
from onward.agents.rounding import ROUNDING

ENDS = {"up": 1.0, "any": 1.0, "down": 0.0}


@registry.add
class OneFeature(CandidateGenerator):
    """Moves one feature to the end of its range in the direction that the spec allows.

    A feature whose end is nearer than its ``step`` or farther away than its ``max_change`` is left alone.

    Parameters
    ----------
    most
        The largest change, as a share of the feature's range.
    """

    name: ClassVar[str] = "one_feature"
    uses_instances: ClassVar[bool] = False

    def __init__(
        self, space: Space, score: Score, goal: Goal, *, most: Annotated[float, Interval(above=0, at_most=1)] = 1.0
    ) -> None:
        single = np.bincount(space.feature_of)[space.feature_of] == 1
        rules = [space.mutable[feature] for feature in space.feature_of]
        self._columns = np.flatnonzero(single & [rule in ENDS for rule in rules])
        self._ends = np.array([ENDS.get(rules[column], 0.0) for column in self._columns])
        self._space, self._score, self._goal, self._most = space, score, goal, most
        self.arms = np.eye(len(space.feature_of))[self._columns]

    @classmethod
    def build(cls, space: Space, instances: Array, objective: Objective, **parameters: float) -> Self:
        """Needs no instances, and compares nothing: each feature is an arm of its own."""
        cls.check(parameters)
        return cls(space, lambda rows: np.zeros(len(rows)), ThresholdGoal(0.0), **parameters)

    def under(self, score: Score, goal: Goal, objective: Objective | None = None) -> Self:
        """The same features under a model."""
        return type(self)(self._space, score, goal, most=self._most)

    def propose(self, people: Array) -> Proposals:
        """Every feature whose end reaches the goal."""
        arms = len(self._columns)
        points = np.repeat(people, arms, axis=0)
        row = np.arange(len(points))
        points[row, np.tile(self._columns, len(people))] = np.tile(self._ends, len(people))
        owners = np.repeat(people, arms, axis=0)
        reached = np.flatnonzero(
            self._may_change(owners, points) & self._space.allowed(points) & self._goal.reached(self._score(points))
        )
        return Proposals(reached // arms, reached % arms, points, reached)

    def _may_change(self, people: Array, targets: Array) -> Mask:
        """Whether each person (n, D) changes something, and as much as the rules allow: (n,)."""
        change = np.abs(targets - people)
        smallest = self._space.smallest_change[self._space.feature_of] / self._space.scale - ROUNDING
        largest = np.minimum(self._space.largest_changes(people), self._most + ROUNDING)
        within = (change >= smallest) & (change <= largest)
        allowed: Mask = ((change == 0) | within).all(axis=1) & (change > 0).any(axis=1)
        return allowed

    def explain(self, person: Array) -> Explanation:
        """No single feature is enough."""
        if len(self.propose(person[np.newaxis]).arm):
            raise ValueError("this person has an option")
        return Explanation("no_single_change", f"none of {len(self._columns)} features is enough alone")
