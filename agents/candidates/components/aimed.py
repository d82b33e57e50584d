"""The search for the targets that help one person most: a beam over sets of features, on a grid of round numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...goals import Goal
from ...objective import Objective
from ...sigmoid import LARGEST_ODDS
from ..contract import Array, Indices, Mask, Score, Space
from .combination import combined, undominated
from .effects import log_odds
from .grid import Grid, Limits, Steps, moves_of, single_moves, without_each_change
from .scored import without_parts

MOVES = 16
"""Most moves of one feature that are measured."""
MOST_MOVES = 96
"""Most of them that are combined: those of the largest values."""
BEAM = 12
"""Combinations of one size that are extended by another move: those of the largest values."""
EXTENDED = 40
"""Most combinations of one size that are measured."""
PER_SET = 3
"""Combinations of one set of features that are compared at least."""
MOST_BITS = 62
FARTHEST = 12
"""Most combinations that are measured because their scores promise to be high."""
LARGEST_SET = 4
"""Most features that a combination changes."""
REFINED = 3
"""Sets whose best target is varied by a few steps of each feature."""
ROUNDS = 2
REFINEMENTS = (-4, -2, -1, 1, 2, 4)
MOST_OPTIONS = 12
"""Most sets of features that a person is offered."""
LEAST_GAIN = 0.01
"""What each change must add to the logarithm of the probability that an option is carried out and helps."""
HARDER = 4.0
"""A near option is the best of its set where effort is this many times as hard as assumed."""
MUCH_NEARER = 0.7
"""It is offered beside the best one where it costs no more than this share of it."""


class Targets(NamedTuple):
    """R targets of a person: steps (R, M), rows (R, D), the log odds that they help, costs and scores (R,).

    ``accepted`` (R,) keep the constraints, reach the goal and are not below the floor.
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

    def beside(self, other: Targets) -> Targets:
        """These and others."""
        return Targets._make([np.concatenate(fields) for fields in zip(self, other, strict=True)])

    @property
    def effects(self) -> tuple[Array, Array, Array]:
        """The log odds that they help, the costs, and the log odds of the scores."""
        return self.helps, self.cost, log_odds(self.score)


class AimedOptions(NamedTuple):
    """A person's options, best first: their steps (R, M) and rows (R, D).

    ``near`` (R,) are those beside a better one of the same features.
    """

    steps: Steps
    rows: Array
    near: Mask


class AimedSearch:
    """A person's options that are most probably carried out and help, among those that reach the goal.

    Moves of single features are measured: how much they cost and help, and what the model makes of them. Those that
    another move of the same feature replaces are left out. The others are combined by the sum of their effects; the
    combinations that promise most are measured, and the best of these are combined again. Then the best target of each
    set of features is varied.

    Offered is the best target of each set of features that costs at most ``dearest`` times the best of all, and helps
    at least as probably as no change at all, where there is one. A set is left out where a part of it is as good. Near
    targets stand beside far ones, for people who find changes harder than assumed.

    Parameters
    ----------
    space
        The rules of the features.
    objective
        What options are compared by; it aims.
    most_changes
        The most features that an option changes.
    dearest
        How many times the cost of the best option an option may cost.
    """

    def __init__(self, space: Space, objective: Objective, most_changes: int, dearest: float) -> None:
        assert objective.improvement is not None, "without an improvement there is nothing to aim at"
        self._space, self._objective, self._improvement = space, objective, objective.improvement
        self._grid = Grid(space, rounded=True)
        self._most_changes, self._dearest = min(most_changes, LARGEST_SET), dearest

    def options(self, person: Array, score: Score, goal: Goal) -> AimedOptions:
        """The options of a person (D,) under a model; none where no target was found that is one."""
        measured = self.targets(person, score, goal)
        for _ in range(LARGEST_SET - 1):
            fewer = _new(_fewer(measured.steps[np.concatenate(self._far_and_near(measured))]), measured.steps)
            if not len(fewer):
                break
            measured = self._without_harm(measured.beside(self._measured(person, fewer, score, goal)), person)
        return self._offered(measured)

    def targets(self, person: Array, score: Score, goal: Goal) -> Targets:
        """The targets of a person (D,) under a model that were measured, also those that are no options."""
        return self._without_harm(self._searched(person, score, goal), person)

    def _without_harm(self, measured: Targets, person: Array) -> Targets:
        """The targets, of which those that help less probably than no change at all are no options if others are."""
        harmless = measured.accepted & (measured.helps >= self._helps_unchanged(person))
        return measured._replace(accepted=harmless) if harmless.any() else measured

    def _helps_unchanged(self, person: Array) -> float:
        """The log odds of the wanted outcome for a person who changes nothing."""
        return self._improvement.log_odds(person[np.newaxis], person[np.newaxis]).item()

    def _searched(self, person: Array, score: Score, goal: Goal) -> Targets:
        limits = self._grid.limits(person)
        ends = zip(limits.fewest.tolist(), limits.most.tolist(), strict=True)
        single = single_moves([moves_of(fewest, most, MOVES) for fewest, most in ends])
        measured = self._measured(person, single, score, goal, whole=True)
        if not len(measured.cost):
            return measured
        moves = self._useful(measured)
        feature, base = (moves.steps != 0).argmax(axis=1), moves
        odds = log_odds(np.append(score(person[np.newaxis]), goal.required)).tolist()
        own = self._helps_unchanged(person), odds[0]
        for size in range(2, self._most_changes + 1):
            pairs = self._promising(base, moves, feature, own, odds[1])
            if not len(pairs):
                break
            steps = base.steps[pairs[:, 0]] + moves.steps[pairs[:, 1]]
            more = self._measured(person, _new(steps, measured.steps[:0]), score, goal, whole=size < self._most_changes)
            measured, base = measured.beside(more), more.at(np.argsort(-self._value(more), kind="stable")[:BEAM])
        for _ in range(ROUNDS):
            varied = _new(self._varied(measured.steps[self._best(measured)[:REFINED]], limits), measured.steps)
            if not len(varied):
                break
            measured = measured.beside(self._measured(person, varied, score, goal))
        return measured

    def _promising(
        self, base: Targets, moves: Targets, feature: Indices, own: tuple[float, float], need: float
    ) -> Indices:
        """The pairs (R, 2) of a base and a move that promise most, and those that promise the highest scores.

        Scores of models with steps are more than the sum of what single moves do: where no predicted combination is
        accepted, the farthest may be.
        """
        sets = base.steps.shape[1] * (base.steps.shape[1] - 1) // 2
        most = max(PER_SET, EXTENDED // max(1, sets))
        worth, pairs = combined(base.steps, base.effects, feature, moves.effects, own, self._objective.nu, need, most)
        by_score = [(odds, np.zeros_like(odds), odds) for _, _, odds in (base.effects, moves.effects)]
        highest, far = combined(base.steps, by_score[0], feature, by_score[1], (own[1], own[1]), 0.0, -np.inf, PER_SET)
        best = np.argsort(-worth, kind="stable")[:EXTENDED], np.argsort(-highest, kind="stable")[:FARTHEST]
        return np.concatenate([pairs[best[0]], far[best[1]]])

    def _useful(self, single: Targets) -> Targets:
        """The single moves that no other replaces, at most ``MOST_MOVES``, and the farthest, in their order."""
        useful = undominated((single.steps != 0).argmax(axis=1), single.effects)
        value = np.where(useful, self._value(single), -np.inf)
        # The farthest moves may do together what none of them does alone.
        farthest = np.concatenate([single.steps.argmax(axis=0), single.steps.argmin(axis=0)])
        best = np.argsort(-value, kind="stable")[: min(MOST_MOVES, int(useful.sum()))]
        return single.at(np.union1d(best, farthest))

    def _best(self, measured: Targets) -> Indices:
        """The best accepted target of each set of features, best first."""
        accepted = np.flatnonzero(measured.accepted)
        changed = measured.steps[accepted] != 0
        order = np.argsort(LEAST_GAIN * changed.sum(axis=1) - self._value(measured)[accepted], kind="stable")
        _, first = np.unique(_sets(changed)[order], return_index=True)
        return accepted[order[np.sort(first)]]

    def _offered(self, measured: Targets) -> AimedOptions:
        far, near = self._far_and_near(measured)
        near = near[self._without_fillers(measured, near)]
        chosen = np.concatenate([far, near])
        return AimedOptions(measured.steps[chosen], measured.rows[chosen], np.arange(len(chosen)) >= len(far))

    def _far_and_near(self, measured: Targets) -> tuple[Indices, Indices]:
        """The best targets, without those of which a part is as good, and near ones of the same sets."""
        best = self._best(measured)
        best = best[without_parts(measured.steps[best])]
        best = best[measured.cost[best] <= self._dearest * measured.cost[best[:1]]][:MOST_OPTIONS]
        return best, self._near(measured, best)

    def _without_fillers(self, measured: Targets, which: Indices) -> Mask:
        """The targets of which no part was measured that is as good."""
        number = {key: row for row, key in enumerate(map(bytes, measured.steps))}
        value, needed = np.where(measured.accepted, self._value(measured), -np.inf), np.ones(len(which), dtype=np.bool_)
        for place, one in enumerate(which.tolist()):
            parts = [number.get(bytes(part), one) for part in _fewer(measured.steps[[one]])]
            needed[place] = all(value[part] < value[one] - LEAST_GAIN for part in parts if part != one)
        return needed

    def _near(self, measured: Targets, best: Indices) -> Indices:
        """The best targets of the same sets where effort is much harder, as far as they are much nearer."""
        value = np.where(measured.accepted, self._value(measured, HARDER), -np.inf)
        sets = _sets(measured.steps != 0)
        near = np.array([np.where(sets == sets[far], value, -np.inf).argmax() for far in best])
        nearer: Indices = near.astype(np.intp)
        return nearer[measured.cost[nearer] < MUCH_NEARER * measured.cost[best]]

    def _varied(self, steps: Steps, limits: Limits) -> Steps:
        """Rows of steps (R, M), each with a few steps more or less of one number, in the same direction."""
        row, feature = np.nonzero((steps != 0) & self._grid.is_number)
        row, feature = np.tile(row, len(REFINEMENTS)), np.tile(feature, len(REFINEMENTS))
        varied, each = steps[row], np.arange(len(row))
        own = varied[each, feature]
        moved = own + np.repeat(REFINEMENTS, len(row) // len(REFINEMENTS))
        varied[each, feature] = moved
        within = (moved >= limits.fewest[feature]) & (moved <= limits.most[feature])
        return np.asarray(varied[within & (np.sign(moved) == np.sign(own))])

    def _value(self, targets: Targets, harder: float = 1.0) -> Array:
        return self._objective._replace(nu=harder * self._objective.nu).value(targets.helps, targets.cost)

    def _measured(self, person: Array, steps: Steps, score: Score, goal: Goal, *, whole: bool = False) -> Targets:
        """The targets of rows of steps (R, M). Unless the ``whole`` is asked for, rejected ones count as no help."""
        rows = self._grid.targets(person, steps)
        cost, scores = self._objective.cost.of_targets(rows, person), score(rows)
        accepted = self._space.allowed(rows) & goal.reached(scores)
        asked, helps = accepted | whole, np.full(len(rows), -LARGEST_ODDS)
        helps[asked] = self._improvement.log_odds(rows[asked], np.broadcast_to(person, rows[asked].shape))
        if (floor := self._objective.floor) is not None:
            accepted &= helps >= floor.least_odds(person)
        return Targets(steps, rows, helps, cost, scores, accepted)


def _sets(changed: Mask) -> Indices:
    """A number for each of the sets of features that R targets change, (R, M)."""
    if changed.shape[1] > MOST_BITS:
        return np.asarray(np.unique(changed, axis=0, return_inverse=True)[1].ravel())
    return np.asarray(changed @ (1 << np.arange(changed.shape[1])))


def _fewer(steps: Steps) -> Steps:
    """Rows of steps (R, M) without one of their changes each, as far as another is left."""
    fewer = without_each_change(steps)
    return fewer[fewer.any(axis=1)]


def _new(steps: Steps, known: Steps) -> Steps:
    """The rows of steps (R, M) that are not among the known ones, each once."""
    seen = set(map(bytes, known))
    keys = list(map(bytes, steps))
    new = [number for key, number in dict(zip(keys, range(len(keys)), strict=True)).items() if key not in seen]
    return steps[np.array(new, dtype=np.intp)]
