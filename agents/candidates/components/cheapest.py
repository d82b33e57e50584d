"""The search for the cheapest targets of people that reach the goal, for any model with a score.

Each person's search goes its own way; those of a block ask the model, the cost and the rules about their targets
together.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial

import numpy as np

from ..contract import Array, Indices
from .effects import MOVES_BY_SIZE, SingleMoveEffects
from .grid import Grid, StepLimits, Steps, are_few, every_target, moves_of, single_moves, without_each_change
from .judge import BLOCK, Judge, Missed, pieces
from .most_promising import MOST_MOVABLE, most_promising
from .scored import Asking, MeasuredTargets, ScoredTargets, in_lockstep

EXHAUSTIVE = 1500
"""All targets of a person are scored where there are no more than this."""
MOVES = 24
"""Most moves of one feature that are scored at first."""
IMPROVED = 16
"""The cheapest options of a person that are made cheaper."""
BETWEEN = 5
SHARES = np.arange(1, BETWEEN + 1) / (BETWEEN + 1)
NARROWINGS = 3
"""A change is made smaller by scoring BETWEEN sizes, and again between the best of these."""
BEAM = 6
"""The best rows that are extended, for people whom nothing else serves."""
BEAM_MOVES = 250
"""Most single moves by which each of them is extended."""
CLIMBS = 8
"""Most features that the beam search changes."""
ENOUGH = 3
"""Sets of more features are tried for people with fewer options."""
MOST_REDUCED = 1000
"""Most rows that are scored to find changes that options do not need."""
MOST_ROWS = 14_000
"""About the most targets of a person that are scored."""
HELD = 1 << 22
"""Most numbers of steps that the searches of a block hold: 32 MB, and as much room for more."""


class CheapestSearch:
    """The targets on a grid of which the cheapest of every set of features are a person's options.

    Where the grid is small all of it is scored. Elsewhere single changes are scored, and combined by the sum of their
    effects on the log odds; the best combinations are scored and made cheaper change by change. A person whom this does
    not serve gets a beam search for the highest score.

    Parameters
    ----------
    judge
        The rules and the model, what targets cost, and the floor that they must not be below.
    grid
        Where targets lie.
    most_changes
        The most features that an option changes.
    """

    def __init__(self, judge: Judge, grid: Grid, most_changes: int) -> None:
        self._judge, self.grid, self._most_changes = judge, grid, most_changes

    def targets(self, people: Array, missed: Missed) -> Iterator[ScoredTargets]:
        """The targets of each of some people (n, D) that a search has asked about; noted are those below the floor."""
        size = min(BLOCK, max(1, HELD // (MOST_ROWS * max(1, min(MOST_MOVABLE, len(self.grid.features))))))
        for start in range(0, len(people), size):
            block = people[start : start + size]
            limits = map(StepLimits._make, zip(*self.grid.limits(block), strict=True))
            searched = list(map(self._searched_limits, block, limits))
            searches = list(map(self._search, block, searched, self._judge.score(block).tolist()))
            yield from in_lockstep(searches, partial(self.measured, block, missed.subset(slice(start, start + size))))

    def is_exhaustive(self, limits: StepLimits) -> bool:
        """Whether all targets of a person of these limits are scored."""
        return are_few(limits, self._most_changes, EXHAUSTIVE)

    def _searched_limits(self, person: Array, limits: StepLimits) -> StepLimits:
        """How far a person's features are moved."""
        return limits if self.is_exhaustive(limits) else most_promising(self._judge, self.grid, person, limits)

    def _search(self, person: Array, limits: StepLimits, score: float) -> Asking[ScoredTargets]:
        """The targets of a person of this score that are asked about."""
        moved = np.flatnonzero(limits.most > limits.fewest)
        targets, limits = ScoredTargets(moved, len(self.grid.features)), StepLimits(*(ends[moved] for ends in limits))
        if self.is_exhaustive(limits):
            yield from targets.add(every_target(limits, self._most_changes))
            return targets
        yield from targets.add(single_moves(list(map(_moves, limits.fewest.tolist(), limits.most.tolist()))))
        single, steps = targets.all, targets.steps
        effects = SingleMoveEffects.from_moves(steps, single.score, single.cost, score, self._judge.goal.required)
        for size in (size for size in MOVES_BY_SIZE if size <= self._most_changes):
            if size > 2 and len(targets.undominated()) >= ENOUGH:
                break
            yield from targets.add(effects.combined(size))
        if not targets.all.valid.any():
            yield from self._climb(targets, steps)
        yield from self._make_cheaper(person, targets, moved)
        yield from self._drop_changes(targets)
        return targets

    def _climb(self, targets: ScoredTargets, moves: Steps) -> Asking[None]:
        """Add single moves to the rows of the highest score, until one is valid or no more features may change."""
        newest, moves = np.arange(len(targets.all.cost)), moves[:: len(moves) // BEAM_MOVES + 1]
        feature = (moves != 0).argmax(axis=1)
        steps = moves[np.arange(len(moves)), feature]
        for _ in range(1, min(self._most_changes, CLIMBS)):
            free = newest[(targets.steps[newest] != 0).sum(axis=1) < self._most_changes]
            best = free[np.argsort(-targets.all.score[free], kind="stable")[:BEAM]]
            newest = yield from targets.extend(best, feature, steps)
            if not len(newest) or targets.all.valid[newest].any():
                break

    def _make_cheaper(self, person: Array, targets: ScoredTargets, moved: Indices) -> Asking[None]:
        """Reduce the changes of the cheapest options, one after the other, the largest first."""
        best = targets.undominated()[:IMPROVED]
        for rank in range(int((targets.steps[best] != 0).sum(axis=1).max(initial=0))):
            rows = self.grid.targets(person, targets.whole(targets.steps[best]))
            # What only follows has no steps of its own.
            sizes = np.where(targets.steps[best] != 0, self.grid.sizes(person, rows)[:, moved], 0.0)
            feature = np.argsort(-sizes, axis=1, kind="stable")[:, rank]
            floor = np.zeros(len(best), dtype=np.int64)
            for _ in range(NARROWINGS):
                best, floor = yield from self._narrowed(targets, best, feature, floor)

    def _narrowed(
        self, targets: ScoredTargets, best: Indices, feature: Indices, floor: Steps
    ) -> Asking[tuple[Indices, Steps]]:
        """Score fewer steps of one feature of each option, above ``floor`` steps; return the best of each."""
        taken = targets.steps[best, feature]
        between = floor[:, np.newaxis] + np.rint((taken - floor)[:, np.newaxis] * SHARES).astype(np.int64)
        between = np.where(between == 0, taken[:, np.newaxis], between)
        steps = np.repeat(targets.steps[best], BETWEEN, axis=0)
        steps[np.arange(len(steps)), np.repeat(feature, BETWEEN)] = between.ravel()
        numbers = yield from targets.add(steps)
        more = numbers.reshape(-1, BETWEEN)
        # The fewest steps that are valid, and the most of the others below them.
        valid = targets.all.valid[more] & (targets.all.cost[more] <= targets.all.cost[best][:, np.newaxis])
        first, options = np.where(valid.any(axis=1), valid.argmax(axis=1), BETWEEN), np.arange(len(best))
        candidates = np.concatenate([more, best[:, np.newaxis]], axis=1)
        below = np.concatenate([floor[:, np.newaxis], between], axis=1)
        return candidates[options, first], below[options, first]

    def _drop_changes(self, targets: ScoredTargets) -> Asking[None]:
        """Score each option without each of its changes, so that one that it does not need is left out."""
        most = len(targets.all.cost) + MOST_REDUCED
        for _ in range(self._most_changes):
            steps, known = targets.steps[targets.undominated()], len(targets.all.cost)
            fewer = without_each_change(steps)
            numbers = yield from targets.add(fewer[fewer.any(axis=1)][: most - known])
            if not targets.all.valid[numbers[numbers >= known]].any():
                break

    def measured(self, people: Array, missed: Missed, owner: Indices, steps: Steps) -> MeasuredTargets:
        """The targets of people (n, D), by their numbers (R,), each moved by a row of steps (R, M)."""
        cuts = pieces(len(owner), people.shape[1])
        parts = [self._piece(people, missed, owner[piece], steps[piece]) for piece in cuts]
        return parts[0] if len(parts) == 1 else MeasuredTargets._make(map(np.concatenate, zip(*parts, strict=True)))

    def _piece(self, people: Array, missed: Missed, owner: Indices, steps: Steps) -> MeasuredTargets:
        rows = self.grid.moved(people[owner], steps)
        scores, cost, allowed, reached = self._judge(rows, people, owner)
        valid = allowed & reached
        valid[valid] = self._judge.worth(rows[valid], people, owner[valid], missed)
        return MeasuredTargets(scores, cost, allowed, reached, valid)


@lru_cache(maxsize=4096)
def _moves(fewest: int, most: int) -> tuple[int, ...]:
    """The steps of one feature that are scored at first, the small ones first, of equal ones those upwards."""
    return tuple(sorted(moves_of(fewest, most, MOVES), key=lambda step: (abs(step), -step)))
