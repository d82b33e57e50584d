"""The search for the targets that help people most: a beam over sets of features, on a grid of round numbers.

Many people are searched for in lockstep: each phase asks the model, the prior, the cost and the rules about the targets
of all of them at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...sigmoid import LARGEST_ODDS
from ..contract import Array, Indices, Proposals
from .combination import ChangeEffects, promising
from .effects import log_odds
from .feature_sets import FeatureSets
from .grid import Grid, StepLimits, Steps, moves_of_all
from .judge import Judge, Missed, pieces
from .most_promising import most_promising
from .targets import NOTHING, Changes, Targets, are_new, fewer, offered, useful, varied, without_harm

MOVES = 16
"""Most moves of one feature that are measured."""
BEAM = 12
"""Combinations of one size that are extended by another move: those of the largest values."""
LARGEST_SET = 4
"""Most features that a combination changes."""
ROUNDS = 2
REFINEMENTS = np.array([-4, -2, -1, 1, 2, 4])
EMPTY = np.zeros(0, dtype=np.intp)
HARDER = 4.0
"""A near option is the best of its set where effort is this many times as hard as assumed."""


class _Block(NamedTuple):
    """n encoded people (n, D), and where they may go.

    ``unchanged`` (n,) are the log odds of the wanted outcome of who changes nothing. Noted in ``missed`` are targets
    below the floor.
    """

    people: Array
    limits: StepLimits
    unchanged: Array
    missed: Missed


class AimedSearch:
    """The options of people that are most probably carried out and help, among those that reach the goal.

    Moves of single features are measured: how much they cost and help, and what the model makes of them. Those that
    another move of the same feature replaces are left out. The others are combined by the sum of their effects; the
    combinations that promise most are measured, and the best of these are combined again. Then the best target of each
    set of features is varied.

    Offered is the best target of each set of features that costs at most ``dearest`` times the best of all, and helps
    at least as probably as no change at all, where there is one. A set is left out where a part of it is as good. Near
    targets stand beside far ones, for people who find changes harder than assumed.

    Parameters
    ----------
    judge
        The rules, the model, and the objective that options are compared by; it aims.
    most_changes
        The most features that an option changes.
    dearest
        How many times the cost of the best option an option may cost.
    """

    def __init__(self, judge: Judge, most_changes: int, dearest: float) -> None:
        self._judge, self._objective, improvement = judge, judge.objective, judge.objective.improvement
        assert improvement is not None, "without an improvement there is nothing to aim at"
        self._improvement, self._grid = improvement, Grid(judge.space, rounded=True)
        self._most_changes, self._dearest = min(most_changes, LARGEST_SET), dearest

    def options(self, people: Array, missed: Missed, sets: FeatureSets) -> Proposals:
        """The options of at most ``BLOCK`` people (n, D); none of those of whom no target was found.

        Noted are targets below the floor. Arms are those of ``sets``; near options have the arms behind them.
        """
        block = self._block(people, missed)
        measured = self._searched(block)
        for _ in range(LARGEST_SET - 1):
            changes = fewer(measured, measured.first(len(people)), self._dearest)
            more = self._measured(block, *self._new(measured, changes, len(people)))
            if not len(more.owner):
                break
            measured = measured.with_more(more)
            without_harm(measured, measured.first(len(people)), block.unchanged)
        chosen, near, _ = offered(measured, measured.first(len(people)), self._dearest)
        arms = sets.arms(self.steps(measured.subset(chosen))) + near * len(sets.rows)
        # Large sets share arms: the best of each counts.
        _, first = np.unique(measured.owner[chosen] * (2 * len(sets.rows)) + arms, return_index=True)
        first.sort()
        best = measured.subset(chosen[first])
        return Proposals.from_targets(missed.numbers[best.owner], arms[first], self.rows(people, best))

    def targets(self, people: Array) -> Targets:
        """The targets of people (n, D) that were measured, also those that are no options."""
        return self._searched(self._block(people, Missed.none(people, self._objective.floor)))

    def rows(self, people: Array, targets: Targets) -> Array:
        """The encoded rows (R, D) of targets of people (n, D)."""
        return self._grid.moved_few(people, targets.owner, targets.feature, targets.steps)

    def steps(self, targets: Targets) -> Steps:
        """The steps of all features (R, M) of targets."""
        return targets.all_steps(len(self._grid.features))

    def _block(self, people: Array, missed: Missed) -> _Block:
        people = np.ascontiguousarray(people)
        unchanged = self._improvement.log_odds(people, people)
        limits = [
            most_promising(self._judge, self._grid, person, StepLimits(*limits))
            for person, limits in zip(people, zip(*self._grid.limits(people), strict=True), strict=True)
        ]
        return _Block(people, StepLimits(*map(np.array, zip(*limits, strict=True))), unchanged, missed)

    def _searched(self, block: _Block) -> Targets:
        count, features = len(block.people), len(self._grid.features)
        owner, feature, steps = moves_of_all(block.limits, MOVES)
        alone = np.full((len(owner), self._most_changes), NOTHING), np.zeros((len(owner), self._most_changes), np.int64)
        alone[0][:, 0], alone[1][:, 0] = feature, steps
        measured = self._measured(block, owner, *alone, whole=True)
        chosen, starts = useful(measured, measured.first(count), features)
        moves = base = measured.subset(chosen)
        unchanged = block.unchanged, log_odds(self._judge.score(block.people))
        need = log_odds(np.array([self._judge.goal.required])).item()
        for size in range(2, self._most_changes + 1):
            pairs = _effects(base), base.first(count), _effects(moves), starts
            changes = Changes(*promising(*pairs, unchanged, self._objective.nu, need, features))
            more = self._measured(
                block, *self._new(measured.subset(EMPTY), changes, count), whole=size < self._most_changes
            )
            measured, base = measured.with_more(more), more.subset(_best_values(more))
        for _ in range(ROUNDS):
            first = measured.first(count)
            changes = varied(measured, first, self._grid.is_number, *block.limits, REFINEMENTS)
            measured = measured.with_more(self._measured(block, *self._new(measured, changes, count)))
        without_harm(measured, measured.first(count), block.unchanged)
        return measured

    def _new(self, known: Targets, changes: Changes, people: int) -> tuple[Indices, Indices, Steps]:
        """The owners, features and steps of the changes that nobody knows yet."""
        new = are_new(Changes(known.feature, known.steps, known.first(people)), changes)
        owner = np.repeat(np.arange(people), np.diff(changes.first))
        return owner[new], changes.feature[new], changes.steps[new]

    def _measured(
        self, block: _Block, owner: Indices, feature: Indices, steps: Steps, *, whole: bool = False
    ) -> Targets:
        """The targets of changes of people, by person. Unless the ``whole`` is asked for, rejected ones count as no
        help."""
        parts = [
            self._piece(block, owner[piece], feature[piece], steps[piece], whole)
            for piece in pieces(len(owner), block.people.shape[1])
        ]
        return parts[0] if len(parts) == 1 else Targets._make(map(np.concatenate, zip(*parts, strict=True)))

    def _piece(self, block: _Block, owner: Indices, feature: Indices, steps: Steps, whole: bool) -> Targets:
        people, objective = block.people, self._objective
        rows = self._grid.moved_few(people, owner, feature, steps)
        scores, cost, allowed, reached = self._judge(rows, people, owner)
        accepted = allowed & reached
        asked, helps = accepted | whole, np.full(len(rows), -LARGEST_ODDS)
        helps[asked] = self._improvement.log_odds(rows[asked], people[owner[asked]])
        accepted[accepted] = block.missed.worth(rows[accepted], people, owner[accepted], helps[accepted])
        value = objective.value(helps, cost)
        near = objective._replace(nu=HARDER * objective.nu).value(helps, cost)
        return Targets(owner, feature, steps, cost, helps, log_odds(scores), value, near, accepted)


def _effects(targets: Targets) -> ChangeEffects:
    return ChangeEffects(targets.feature, targets.steps, targets.helps, targets.cost, targets.odds)


def _best_values(targets: Targets) -> Indices:
    """The numbers of each person's targets of the largest values, the best first."""
    order = np.lexsort((-targets.value, targets.owner))
    rank = np.arange(len(order)) - np.searchsorted(targets.owner, targets.owner)
    return order[rank < BEAM]
