"""What helps one person most: a beam over sets of features, on a grid of round numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...goals import Goal
from ...objective import Objective
from ..contract import Array, Indices, Mask, Score, Space
from .combination import combined, undominated
from .effects import log_odds
from .grid import Grid, Limits, Steps, spread

MOVES = 24
"""Most moves of one feature that are looked at first."""
BASES = 12
EXTENDED = 64
"""Most combinations of one size that the model scores."""
LARGEST_SET = 4
MOST_MOVES = 96
REFINED = 6


class Targets(NamedTuple):
    """R targets of a person: steps (R, M), rows (R, D), the log odds that they help, costs and scores (R,).

    ``accepted`` (R,) keep the constraints and reach the goal.
    """

    steps: Steps
    rows: Array
    helps: Array
    cost: Array
    score: Array
    accepted: Mask

    def at(self, which: Indices | Mask) -> Targets:
        """Some of the targets."""
        return Targets._make([field[which] for field in self])


class AimedSearch:
    def __init__(self, space: Space, objective: Objective, most_changes: int) -> None:
        self._space, self._objective, self._grid = space, objective, Grid(space, rounded=True)
        self._most_changes = min(most_changes, LARGEST_SET)

    def search(self, person: Array, score: Score, goal: Goal):
        self.person, self.score, self.goal = person, score, goal
        limits = self._grid.limits(person)
        steps = _single(limits)
        if not len(steps): return None
        single = self._measured(steps)
        own = self._objective.improvement.log_odds(person[None], person[None])[0], log_odds(score(person[np.newaxis]))[0]
        feature = (steps != 0).argmax(axis=1)
        effects = single.helps, single.cost, log_odds(single.score)
        useful = undominated(feature, effects)
        kept = np.flatnonzero(useful)
        if len(kept) > MOST_MOVES:
            v = self._objective.value(single.helps, single.cost)[kept]
            kept = np.sort(kept[np.argsort(-v, kind="stable")[:MOST_MOVES]])
        moves = single.at(kept); mf = feature[kept]; me = tuple(e[kept] for e in effects)
        found = [single]
        bases = moves
        need = log_odds(np.array([self.goal.required]))[0]
        for size in range(2, self._most_changes + 1):
            be = bases.helps, bases.cost, log_odds(bases.score)
            value, pairs = combined(bases.steps, be, mf, me, own, self._objective.nu, need)
            if not len(value): break
            pairs = pairs[np.argsort(-value, kind="stable")[:EXTENDED]]
            steps = bases.steps[pairs[:, 0]] + moves.steps[pairs[:, 1]]
            newest = self._measured(steps)
            found.append(newest)
            v = self._objective.value(newest.helps, newest.cost)
            bases = newest.at(np.argsort(-v, kind="stable")[:BASES])
        every = Targets._make(map(np.concatenate, zip(*found, strict=True)))
        v = np.where(every.accepted, self._objective.value(every.helps, every.cost), -np.inf)
        sets, number = np.unique(every.steps != 0, axis=0, return_inverse=True)
        order = np.argsort(-v, kind="stable")
        _, first = np.unique(number[order], return_index=True)
        best = order[np.sort(first)]
        best = best[np.isfinite(v[best])][:REFINED]
        if len(best) and REFINE:
            near = self._near(every.steps[best], limits)
            if len(near):
                more = self._measured(near)
                every = Targets._make(map(np.concatenate, zip(every, more, strict=True)))
        return every

    def _near(self, steps: Steps, limits: Limits) -> Steps:
        rows = []
        o, f = np.nonzero((steps != 0) & self._grid.is_number)
        for delta in REFINE:
            r = steps[o]; d = r.copy()
            d[np.arange(len(o)), f] += delta
            rows.append(d)
        rows = np.concatenate(rows); ff = np.tile(f, len(REFINE)); val = rows[np.arange(len(rows)), ff]
        src = np.tile(steps[o, f], len(REFINE))
        ok = (val >= limits.fewest[ff]) & (val <= limits.most[ff]) & (np.sign(val) == np.sign(src))
        return rows[ok]

    def _measured(self, steps: Steps) -> Targets:
        person = self.person
        rows = self._grid.targets(person, steps)
        helps = self._objective.improvement.log_odds(rows, rows)
        cost = self._objective.cost.of_pairs(rows, person[np.newaxis], np.arange(len(rows)), np.zeros(len(rows), np.intp))
        s = self.score(rows)
        accepted = np.asarray(self._space.allowed(rows), dtype=bool) & self.goal.reached(s)
        return Targets(steps, rows, helps, cost, s, accepted)

REFINE = (-4, -2, -1, 1, 2, 4)


def _single(limits: Limits) -> Steps:
    parts = []
    for feature, (fewest, most) in enumerate(zip(limits.fewest.tolist(), limits.most.tolist(), strict=True)):
        share = MOVES if 0 in (fewest, most) else MOVES // 2
        counts = sorted([-s for s in spread(-fewest, share)] + list(spread(most, share)))
        part = np.zeros((len(counts), len(limits.most)), dtype=np.int64)
        part[:, feature] = counts
        parts.append(part)
    return np.concatenate(parts)
