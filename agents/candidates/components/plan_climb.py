"""Quick plans: feature by feature uphill, by the score or by what the score gains for its cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..contract import Array, Indices
from .lattice import Lattice
from .plan_targets import PlanTargets

BEAM, NARROW_BEAM = 8, 3
"""Targets that are extended at each step of a climb by the score, and by the gain for its cost."""
LEVELS, MOVES = 4, 80
"""Levels of a feature and number of steps that are tried in a climb, and of all: those of most worth alone."""
LEAST_COST = 1e-9
"""Costs count as no less where gains are divided by them."""

Worth = Callable[[Array, Array], Array]
"""What targets are worth, (R,): from gains in log odds (R,) and costs (R, S)."""


class PlanClimb:
    """Finds some valid targets with few scores: they bound what others may cost.

    Single levels are scored. From the person as they are, targets are extended by a change of one more feature, and
    those of most worth again, until one is valid. The worth is the score; then the same without each of the features
    that this changed; then, for each sample of what steps cost, the gain in log odds divided by its cost.

    Parameters
    ----------
    lattice
        What the person may become.
    targets
        The targets that are scored.
    steps, changes
        The most steps of a plan, and features that it changes.
    rows
        No step of a climb begins when so many targets were scored.
    """

    def __init__(self, lattice: Lattice, targets: PlanTargets, steps: int, changes: int, rows: int) -> None:
        self._lattice, self._targets = lattice, targets
        self._most_steps, self._most_changes, self._most_rows = steps, changes, rows
        self._level = np.flatnonzero(lattice.steps)
        self._feature = lattice.feature_of[self._level]
        single = np.repeat(targets.start[np.newaxis], len(self._level), axis=0)
        single[np.arange(len(single)), self._feature] = self._level
        start_score, _ = targets.score(targets.start[np.newaxis])
        self._start_score = start_score.item()
        self._gain = targets.score(single)[0] - self._start_score if len(single) else np.zeros(0)
        self._cost = targets.lower(single)

    @property
    def missing(self) -> float:
        """The log odds that the person lacks."""
        return -self._start_score

    @property
    def gains(self) -> Array:
        """By how much each entry alone raises the log odds: that of its best level."""
        gains = np.full(len(self._targets.levels.steps), -np.inf)
        np.maximum.at(gains, self._targets.entries(self._level), self._gain)
        gains[self._targets.entries(self._targets.start)] = 0.0
        return gains

    def run(self) -> None:
        """Make all climbs."""
        target = self._climb(BEAM, _gain)
        for m in () if target is None else np.flatnonzero(target != self._targets.start):
            self._climb(BEAM, _gain, without=int(m))
        for sample in range(self._cost.shape[1]):
            self._climb(NARROW_BEAM, partial(_gain_for_cost, sample, self._targets.tables.stop))

    def _climb(self, width: int, worth: Worth, without: int | None = None) -> Indices | None:
        """The valid target (M,) of the highest score that was found first; None where there is none."""
        moves = self._moves(worth, without)
        front = self._targets.start[np.newaxis]
        while self._targets.rows < self._most_rows:
            rows = self._extended(front, moves)
            if not len(rows):
                break
            log_odds, valid = self._targets.score(rows)
            if valid.any():
                return np.asarray(rows[valid][log_odds[valid].argmax()])
            value = worth(log_odds - self._start_score, self._targets.lower(rows))
            front = rows[np.argsort(-value, kind="stable")[:width]]
        return None

    def _moves(self, worth: Worth, without: int | None) -> Indices:
        """The single changes that are combined: those of most worth of each feature and number of steps, and of all."""
        order = np.argsort(-worth(self._gain, self._cost), kind="stable")
        if without is not None:
            order = order[self._feature[order] != without]
        kind = self._feature[order] * (self._most_steps + 1) + self._lattice.steps[self._level[order]]
        rank = np.zeros(len(order), np.intp)
        for same_kind in (kind == number for number in np.unique(kind)):
            rank[same_kind] = np.arange(same_kind.sum())
        return order[rank < LEVELS][:MOVES]

    def _extended(self, front: Indices, moves: Indices) -> Indices:
        """The targets (R, M) with one more of the moves, where the most steps and changes allow it."""
        steps = self._lattice.steps
        base, move = np.divmod(np.arange(len(front) * len(moves)), max(1, len(moves)))
        feature, level = self._feature[moves[move]], self._level[moves[move]]
        is_free = front[base, feature] == self._targets.start[feature]
        taken = steps[front].sum(axis=1)[base] + steps[level]
        changed = (front != self._targets.start).sum(axis=1)[base]
        keep = is_free & (taken <= self._most_steps) & (changed < self._most_changes)
        rows = front[base[keep]]
        rows[np.arange(len(rows)), feature[keep]] = level[keep]
        return np.unique(rows, axis=0)


def _gain(gain: Array, _: Array) -> Array:
    return gain


def _gain_for_cost(sample: int, stop: float, gain: Array, costs: Array) -> Array:
    return gain / np.maximum(costs[:, sample] - stop, LEAST_COST)
