"""Maximal success as a program's generator: plans in the spec's steps, counted from the person's own values."""

from __future__ import annotations

from copy import copy
from typing import ClassVar, Self

import numpy as np

from ...goals import Goal
from ..components.grid import Steps
from ..contract import Array, Explanation, Indices, LinearScore, Mask, Objective, Proposals, Score, Space
from ..search import Search
from .contract import Bounds, Task, gained, task_of
from .maximal_success import MaximalSuccess
from .whole_steps import whole_steps


class MaximalSuccessGenerator(Search):
    """Plans of ``MaximalSuccess``, those that people most probably carry out: one at least to who can reach the goal.

    The first option is the recommender's plan. Others have about half as many changes, and half of these again: the
    plan among the features that contribute most. Arms are sets of features, as those of ``Search``.

    Where there is no plan, ``Search`` proposes: under a score that is not linear, for people who need another category
    of a one-hot feature, and where a constraint across features forbids all plans.

    Parameters
    ----------
    objective
        Its cost is what the options of ``Search`` are compared by: a recommender has an aim of its own.
    difficulty
        $d$ of each feature (F,), above 0; 0.5 unless it is known or learned, which the paper starts with.
    beta
        How likely changes succeed: theta = beta / d.
    """

    name: ClassVar[str] = MaximalSuccess.name

    def __init__(
        self,
        space: Space,
        objective: Objective,
        score: Score | None = None,
        goal: Goal | None = None,
        difficulty: Array | None = None,
        beta: float = 0.05,
    ) -> None:
        super().__init__(space, objective.by_cost, score, goal)
        self._difficulty = np.full(len(space.mutable), 0.5) if difficulty is None else difficulty
        self._beta = beta
        column, categories, size, _, _, scale = self._grid.layout
        self._column, self._is_number = column, categories == 0
        self._size = size / scale

    def under(self, score: Score, goal: Goal, objective: Objective | None = None) -> Self:
        """The same under a model, by cost."""
        return super().under(score, goal, None if objective is None else objective.by_cost)

    def with_difficulty(self, difficulty: Array, beta: float) -> Self:
        """The same with other difficulties (F,), say those learned meanwhile."""
        other = copy(self)
        other._difficulty, other._beta = difficulty, beta
        return other

    def propose(self, people: Array) -> Proposals:
        """The options of encoded people, shape (n, D)."""
        return self._completed(people, self._planned(people), super().propose)

    def explain(self, person: Array) -> Explanation:
        """How far the allowed changes lead, and the smallest relaxation of the rules that would help."""
        if count := len(self._planned(person[np.newaxis]).arm):
            raise ValueError(f"{count} options are feasible for this person")
        return super().explain(person)

    def _relaxed(self, space: Space) -> MaximalSuccessGenerator:
        return type(self)(space, self._objective, *self._model())

    def _planned(self, people: Array) -> Proposals:
        """The recommender's options."""
        score, goal = self._model()
        if not (isinstance(score, LinearScore) and 0.0 < goal.required < 1.0) or not len(self._column):
            return Proposals.none(people)
        task, most = self._task(people, score, goal.required)
        recommender = MaximalSuccess(self._beta / self._difficulty[self._grid.features])
        rows, parts = np.arange(len(people)), list[tuple[Indices, Steps]]()
        allowed: Mask = np.ones_like(most, dtype=np.bool_)
        changes = self._most_changes
        if changes < allowed.shape[1]:
            allowed = _largest(task.gain * most * self._size, changes)
        while changes:
            free = np.where(allowed, most, 0)
            within = (task.missing > 0.0) & (gained(free * self._size, task.gain) >= task.missing)
            rows, free, allowed, task, most = (
                rows[within],
                free[within],
                allowed[within],
                task.only(within),
                most[within],
            )
            steps = whole_steps(task.restricted_to(free > 0), recommender, self._size, free)
            parts.append((rows, steps * task.sign.astype(np.int64)))
            changes //= 2
            allowed = _largest(task.gain * steps * self._size, changes)
        owner, moves = map(np.concatenate, zip(*parts, strict=True))
        points = self._grid.moved(people[owner], moves)
        _, good = self._judge.accepts(points, people, owner)
        arm = self._sets.arms(moves)
        # Of the options of one arm the first counts: the one that was free to change more.
        _, first = np.unique(np.stack([owner[good], arm[good]]), axis=1, return_index=True)
        keep = np.flatnonzero(good)[first]
        return Proposals.from_targets(owner[keep], arm[keep], points[keep])

    def _task(self, people: Array, score: LinearScore, required: float) -> tuple[Task, Steps]:
        """The task of the people by movable feature, and the most helpful steps of each, (n, M)."""
        fixed = Bounds(people, people)
        whole = task_of(score, people, np.full(len(people), required), fixed)
        fewest, most = self._grid.limits(people)
        gain = np.where(self._is_number, whole.gain[self._column], 0.0)
        sign = whole.sign[self._column]
        steps = np.where(sign > 0.0, most, -fewest)
        steps[:, gain == 0.0] = 0
        own = np.ascontiguousarray(people[:, self._column])
        return Task(own, whole.missing, gain, sign, steps * self._size, whole.required), steps


def _largest(contributions: Array, count: int) -> Mask:
    """The ``count`` largest contributions of each row (n, M)."""
    rank = np.argsort(np.argsort(-contributions, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray(rank < count)
