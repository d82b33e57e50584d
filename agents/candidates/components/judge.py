"""Whom the rules and the model let go where: what is asked about a block of targets, and of whom they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...goals import Goal
from ...objective import Floor, Objective
from ..contract import Array, Indices, Mask, Score, Space

BLOCK = 32
"""People who are searched for in lockstep. More of them save little time, and take more memory."""
NUMBERS = 1 << 21
"""Most numbers of encoded rows that are asked about at once: 16 MB."""


class Verdicts(NamedTuple):
    """The scores and costs of R targets (R,), which keep the constraints, and which reach the goal, (R,)."""

    score: Array
    cost: Array
    allowed: Mask
    reached: Mask


class Missed(NamedTuple):
    """The targets below the floor that help n people most, of those that keep the rules and reach the goal.

    ``log_odds`` are those that they help, minus infinity where there is none, ``rows`` are the targets, and ``least``
    are the log odds that the ``floor`` asks for, None without one: of all people of a search, of whom the n have the
    ``numbers`` (n,).
    """

    numbers: Indices
    log_odds: Array
    rows: Array
    least: Array | None
    floor: Floor | None

    @classmethod
    def none(cls, people: Array, floor: Floor | None) -> Missed:
        """No target of people (n, D)."""
        least = None if floor is None else floor.least_odds(people)
        return cls(np.arange(len(people)), np.full(len(people), -np.inf), people.copy(), least, floor)

    def subset(self, numbers: Indices | slice) -> Missed:
        """The notes on some of the people, which both objects share."""
        return self._replace(numbers=self.numbers[numbers])

    def worth(self, rows: Array, people: Array, owner: Indices, log_odds: Array) -> Mask:
        """Which targets (R, D) of the people (n, D), by number (R,), are not below the floor. Others are noted."""
        if self.floor is None or self.least is None or not len(rows):
            return np.ones(len(rows), dtype=np.bool_)
        worth = self.floor.passed(log_odds, self.least[self.numbers[owner]], rows, people[owner])
        self._note(rows[~worth], owner[~worth], log_odds[~worth])
        return worth

    def _note(self, rows: Array, owner: Indices, log_odds: Array) -> None:
        """Remember the best of more targets (R, D) of the n people, by their numbers (R,)."""
        order = np.lexsort((-log_odds, owner))
        numbers, first = np.unique(owner[order], return_index=True)
        best, numbers = order[first], self.numbers[numbers]
        better = log_odds[best] > self.log_odds[numbers]
        self.log_odds[numbers[better]], self.rows[numbers[better]] = log_odds[best[better]], rows[best[better]]

    def target(self, number: int) -> Array:
        """The target of a person, (1, D), or none, (0, D)."""
        return self.rows[number : number + 1].copy() if self.log_odds[number] > -np.inf else self.rows[:0]


class Judge(NamedTuple):
    """The rules of a ``space``, an ``objective``, a model's ``score`` and the ``goal`` that it must reach.

    Rows of one person lie together where it can be: models that compare rows are quick then.
    """

    space: Space
    objective: Objective
    score: Score
    goal: Goal

    def __call__(self, rows: Array, people: Array, owner: Indices) -> Verdicts:
        """The verdicts on encoded targets (R, D) of people (n, D), by their numbers (R,)."""
        if self.space.consequences is None:
            scores, cost = self.score(rows), self.objective.cost.of_targets(rows, people, owner)
            return Verdicts(scores, cost, self.space.allowed(rows), self.goal.reached(scores))
        examined = self.space.examined(rows, people[owner])
        cost = self.objective.cost.of_targets(examined.acted, people, owner)
        allowed = examined.sound & self.space.allowed(rows)
        scores = self._least_scores(rows, examined.short, allowed)
        return Verdicts(scores, cost, allowed, self.goal.reached(scores))

    def _least_scores(self, rows: Array, short: Array, asked: Mask) -> Array:
        """The scores (R,) of states (R, D) where less follows than told; of those ``asked`` for also as told, the less.

        The second ones are asked about those alone that reach the goal by the first.
        """
        scores = self.score(short)
        if short is not rows:
            again = np.flatnonzero(asked & self.goal.reached(scores))
            again = again[(short[again] != rows[again]).any(axis=1)]
            if len(again):
                scores = scores.copy()
                scores[again] = np.minimum(scores[again], self.score(rows[again]))
        return scores

    def worth(self, rows: Array, people: Array, owner: Indices, missed: Missed) -> Mask:
        """Which of them are not below the floor, (R,). Of the others the best are noted."""
        if (floor := self.objective.floor) is None or not len(rows):
            return np.ones(len(rows), dtype=np.bool_)
        return missed.worth(rows, people, owner, floor.improvement.log_odds(rows, people[owner]))

    def accepts(self, rows: Array, people: Array, owner: Indices) -> tuple[Array, Mask]:
        """Their scores, (R,), and which of them keep the rules, reach the goal and are not below the floor."""
        if self.space.consequences is None:
            scores = self.score(rows)
            valid = self.space.allowed(rows) & self.goal.reached(scores)
        else:
            scores, _, allowed, reached = self(rows, people, owner)
            valid = allowed & reached
        valid[valid] = self.objective.worth_of_pairs(rows[valid], people, owner[valid])
        return scores, valid


def pieces(rows: int, columns: int) -> Iterator[slice]:
    """Pieces of rows of so many columns, at least one, that are few enough to be asked about at once."""
    size = max(1, NUMBERS // max(1, columns))
    yield from (slice(start, start + size) for start in range(0, max(1, rows), size))
