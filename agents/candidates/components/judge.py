"""Whom the rules and the model let go where: what is asked about a block of targets, and of whom they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...goals import Goal
from ...objective import Objective
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


class Judge(NamedTuple):
    """The rules of a ``space``, an ``objective``, a model's ``score`` and the ``goal`` that it must reach.

    Rows of one person lie together where it can be: models that compare rows are quick then.
    """

    space: Space
    objective: Objective
    score: Score
    goal: Goal

    def __call__(self, rows: Array, people: Array, whose: Indices) -> Verdicts:
        """What is said of encoded targets (R, D) of people (n, D), by their numbers (R,)."""
        scores, cost = self.score(rows), self.objective.cost.of_targets(rows, people, whose)
        return Verdicts(scores, cost, self.space.allowed(rows), self.goal.reached(scores))

    def accepts(self, rows: Array, people: Array, whose: Indices) -> tuple[Array, Mask]:
        """Their scores, (R,), and which of them keep the rules, reach the goal and are not below the floor."""
        scores = self.score(rows)
        valid = self.space.allowed(rows) & self.goal.reached(scores)
        valid[valid] = self.objective.worth_of_pairs(rows[valid], people, whose[valid])
        return scores, valid


def pieces(rows: int, columns: int) -> Iterator[slice]:
    """Pieces of rows of so many columns, at least one, that are few enough to be asked about at once."""
    size = max(1, NUMBERS // max(1, columns))
    yield from (slice(start, start + size) for start in range(0, max(1, rows), size))
