"""The contract of recommenders: under a linear score they change people so that each reaches a score of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from ...compiled import compiled
from ...sigmoid import logit
from ..contract import Array, LinearScore, Mask

SLACK = 1e-10
SCORE_SLACK = 1e-11
"""So far beyond the target a plan aims, in log odds and in the score, so that no rounding error keeps it below."""
LEAST_ROOM = 1e-12
"""A feature with less room stays as it is."""


class Bounds(NamedTuple):
    """Between which encoded values people may go, (n, D) or what broadcasts to it.

    A feature that may not change has the person's own value as both bounds, one that may only rise as the lowest.
    """

    lowest: Array
    highest: Array


class Task(NamedTuple):
    """The log odds that n people lack, and the changes that gain them.

    A *change* is a distance in the direction that raises the score, ``sign`` (D,). ``people`` are encoded (n, D),
    ``missing`` (n,) is in log odds, ``gain`` (D,) in log odds for a unit of change, ``room`` (n, D) is the largest
    change, 0 where none is allowed or none helps. ``required`` (n,) are the log odds to reach.
    """

    people: Array
    missing: Array
    gain: Array
    sign: Array
    room: Array
    required: Array

    @property
    def reach(self) -> Array:
        """The gains, (n,), of all changes as large as they may be."""
        return gained(self.room, self.gain)

    def only(self, rows: Mask) -> Task:
        """Some of the people."""
        people, missing, gain, sign, room, required = self
        return Task(people[rows], missing[rows], gain, sign, room[rows], required[rows])

    def restricted_to(self, allowed: Mask) -> Task:
        """The same with changes of ``allowed`` (n, D) features only."""
        return self._replace(room=np.where(allowed, self.room, 0.0))

    def targets(self, changes: Array) -> Array:
        """The encoded people (n, D) after their changes."""
        return self.people + self.sign * changes


class Recommendations(NamedTuple):
    """The plans that are recommended to n people.

    ``targets`` (n, D) are encoded, the person's own row where the target score cannot be reached; ``reached`` (n,) says
    whose target is; ``best`` (n,) is the highest score within each person's bounds.
    """

    targets: Array
    reached: Mask
    best: Array


class Recommender(ABC):
    """Chooses changes that together gain what a person lacks, by an objective that is a sum over the features.

    A person's plan does not depend on the others in the batch, to the last bit.
    """

    name: ClassVar[str]

    @abstractmethod
    def changes(self, task: Task) -> Array:
        """The changes (n, D) of people who lack something that is within their reach."""

    @abstractmethod
    def price(self, task: Task, changes: Array) -> Array:
        """The objective's part (n, D) of each change: what is made small."""

    def recommend(self, score: LinearScore, people: Array, targets: Array, bounds: Bounds) -> Recommendations:
        """A plan for each of n encoded people (n, D), whose score is to be at least ``targets`` (n,).

        Where the objective is continuous, the score is within 1e-9 of the target. Those who have it already stay as
        they are.
        """
        task = task_of(score, people, targets, bounds)
        needs, within = task.missing > 0.0, task.missing <= task.reach
        changes = np.zeros_like(task.people)
        asked = needs & within
        changes[asked] = self.changes(task.only(asked))
        enough = gained(changes, task.gain) >= task.missing - 0.5 * SLACK
        best = score(task.targets(task.room))
        return Recommendations(task.targets(changes), ~needs | (within & enough), best)


def task_of(score: LinearScore, people: Array, targets: Array, bounds: Bounds) -> Task:
    """The task of n encoded people (n, D) who need scores of ``targets`` (n,)."""
    weights = np.ascontiguousarray(score.weights, dtype=np.float64)
    people = np.ascontiguousarray(people, dtype=np.float64)
    targets = np.clip(targets, 0.0, 1.0)
    aims = np.where(targets > 0.0, np.minimum(targets + SCORE_SLACK, 0.5 * (1.0 + targets)), 0.0)
    with np.errstate(divide="ignore"):
        needed = logit(aims, 0.0)
    rising = np.clip(bounds.highest - people, 0.0, None)
    falling = np.clip(people - bounds.lowest, 0.0, None)
    room = np.where(weights > 0.0, rising, np.where(weights < 0.0, falling, 0.0))
    room[room < LEAST_ROOM] = 0.0
    missing = needed + SLACK - (gained(people, weights) + float(score.bias))
    return Task(people, missing, np.abs(weights), np.where(weights < 0.0, -1.0, 1.0), room, needed)


def gained(changes: Array, gain: Array) -> Array:
    """The sums, (n,), of the changes (n, D) times their gains (D,), each in the order of the columns."""
    total = np.zeros(len(changes))
    add_gains(np.ascontiguousarray(changes), gain, total)
    return total


@compiled
def add_gains(changes: Array, gain: Array, total: Array) -> None:
    """Add up each row in the order of its columns: a product of matrices would depend on the other rows."""
    for i in range(len(changes)):
        for d in range(len(gain)):
            total[i] += changes[i, d] * gain[d]
