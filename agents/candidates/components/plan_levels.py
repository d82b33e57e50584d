"""The lattice of one person under a program's rules, and what its steps cost by the program's cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...costs import Cost, SampledCost
from ...costs.causal import Causal
from ...costs.plan_costs import PlanCosts
from ...costs.prior import sampled_plan_costs
from ...rounding import ROUNDING
from ..contract import Array, Indices, Space
from .grid import Grid, Steps, moves_of
from .lattice import FeatureLevels, Lattice, lattice_of
from .plan_order import PlanTables
from .plan_tables import additive_tables, plan_costs, plan_tables

MOVES = 24
"""Most levels of a number, on both sides of the person's own."""
SAMPLES = 8
"""Samples of a cost distribution for each of which the cheapest plans are searched."""
IMPOSSIBLE = 1e9
"""What a change costs that a sample would not make: no plan with it is among the cheapest of this sample."""


class PlanLevels(NamedTuple):
    """The targets of a person (D,): a lattice, and the encoded columns of its levels.

    Of movable feature m, ``blocks[m]`` (n, K, columns) are the encoded columns ``columns[m]`` after each step to each
    of its n levels, the own one first.
    """

    person: Array
    lattice: Lattice
    columns: Sequence[slice]
    blocks: Sequence[Array]

    def rows(self, levels: Indices) -> Array:
        """The encoded rows (R, D) of targets (R, M)."""
        rows = np.repeat(self.person[np.newaxis], len(levels), axis=0)
        for m, (columns, block) in enumerate(zip(self.columns, self.blocks, strict=True)):
            rows[:, columns] = block[levels[:, m] - self.lattice.first[m], -1]
        return rows

    def rows_after(self, levels: Indices, order: Indices) -> Array:
        """The encoded rows (k, D) after each step of a plan: its levels (M,), its steps in order, -1 after the last."""
        order, done = order[order >= 0], np.zeros(len(levels), np.intp)
        rows = np.repeat(self.person[np.newaxis], len(order), axis=0)
        for step, m in enumerate(order):
            rows[step:, self.columns[m]] = self.blocks[m][levels[m] - self.lattice.first[m], done[m]]
            done[m] += 1
        return rows

    @property
    def single(self) -> Array:
        """The encoded rows (L, D) of the levels, each with all other features as they are."""
        levels = np.repeat(self.lattice.first[np.newaxis, :-1], len(self.lattice.steps), axis=0)
        levels[np.arange(len(levels)), self.lattice.feature_of] = np.arange(len(levels))
        return self.rows(levels)

    def tables(self, cost: Cost) -> tuple[PlanTables, Array]:
        """The costs of steps under S samples of a program's cost, and the probability of each sample, (S,).

        A causal cost has examples of its prior. A cost that is no sum over features is taken as one.
        """
        if isinstance(cost, Causal):
            weights, mass = cost.prior.examples(SAMPLES)
            return plan_tables(cost.structure, self.lattice, weights), mass
        rows = self.single
        if isinstance(cost, SampledCost):
            shifts = cost.shifts(rows, self.person[np.newaxis], np.arange(len(rows)), np.zeros(len(rows), np.intp))
            costs = np.minimum(cost.costs(shifts), IMPOSSIBLE)
            costs = costs[:, np.linspace(0, costs.shape[1] - 1, SAMPLES).astype(np.intp)]
        else:
            costs = cost.of_targets(rows, self.person)[:, np.newaxis]
        return additive_tables(self.lattice, costs), np.full(costs.shape[1], 1.0 / costs.shape[1])

    def costs(self, cost: Cost, levels: Indices, order: Indices) -> PlanCosts:
        """The costs of plans (n, M) for a person under any weights, their steps in order (n, K).

        Raise ``ValueError`` where the cost is the same for everybody.
        """
        if isinstance(cost, Causal):
            return plan_costs(cost.structure, self.lattice, levels, order)
        if isinstance(cost, SampledCost):
            return sampled_plan_costs(cost, self.person, self.rows(levels))
        raise ValueError(f"cost {cost.name!r} is the same for everybody: there is nothing to ask")


def plan_levels(space: Space, grid: Grid, person: Array, longest: int) -> PlanLevels:
    """The levels that a person (D,) can reach in at most ``longest`` steps: near ones of a number, and all categories.

    A change that is larger than the feature's largest step takes several nearly equal ones.
    """
    limits = grid.limits(person)

    def parts() -> Iterator[tuple[int, Steps, Array]]:
        for m, (fewest, most) in enumerate(zip(limits.fewest.tolist(), limits.most.tolist(), strict=True)):
            move = np.array(moves_of(fewest, most, MOVES), np.int64) if grid.is_number[m] else np.arange(1, most + 1)
            count = _step_counts(space, grid.features[m], move * grid.layout[2][m])
            move, count = move[count <= longest], count[count <= longest]
            partial = np.rint(move[:, np.newaxis] * _shares(count)).astype(np.int64)
            moved = np.zeros((partial.size, len(grid.features)), np.int64)
            moved[:, m] = partial.ravel()
            block = grid.targets(person, moved)[:, grid.columns(m)]
            yield grid.features[m], count, block.reshape(*partial.shape, block.shape[1])

    return _levels(space, person, list(parts()))


def levels_to(space: Space, person: Array, targets: Array) -> tuple[PlanLevels, Indices]:
    """The features of a person (D,) that some of the targets (n, D) change, and the levels of each target, (n, M).

    A feature has the levels that it has in the targets.
    """
    parts: list[tuple[int, Steps, Array]] = []
    chosen: list[Indices] = []
    for feature in np.unique(space.feature_of[(targets != person).any(axis=0)]).tolist():
        columns = np.flatnonzero(space.feature_of == feature)
        values, level = np.unique(
            np.concatenate([person[np.newaxis, columns], targets[:, columns]]), axis=0, return_inverse=True
        )
        own, *level_of = level.ravel().tolist()
        values = np.delete(values, own, axis=0)
        # The own level comes first.
        chosen.append(np.array([0 if at == own else at + (at < own) for at in level_of], np.intp))
        if len(columns) > 1:
            parts.append((feature, np.ones(len(values), np.int64), values[:, np.newaxis]))
            continue
        low, scale, digits = space.low[columns[0]], space.scale[columns[0]], space.digits[feature]
        change = values[:, 0] - person[columns[0]]
        count = _step_counts(space, feature, change * scale)
        share = _shares(count)
        raw = np.round(low + (person[columns[0]] + change[:, np.newaxis] * share) * scale, digits)
        encoded = np.where(share < 1.0, (raw - low) / scale, values)
        parts.append((feature, count, encoded[:, :, np.newaxis]))
    levels = _levels(space, person, parts)
    none = np.zeros((len(targets), 0), np.intp)
    return levels, np.column_stack([none, *chosen]) + levels.lattice.first[:-1]


def _levels(space: Space, person: Array, parts: Sequence[tuple[int, Steps, Array]]) -> PlanLevels:
    """The lattice of features with these numbers of steps (n,) and encoded columns after each step (n, K, columns)."""
    first = np.searchsorted(space.feature_of, np.arange(len(space.mutable) + 1))
    is_one_hot = np.diff(first) > 1
    own = np.where(is_one_hot, 1.0, person[first[:-1]])
    columns = [slice(first[feature], first[feature + 1]) for feature, _, _ in parts]
    levels, blocks = [], []
    for (feature, count, block), where in zip(parts, columns, strict=True):
        values = np.ones(block.shape[:2]) if is_one_hot[feature] else block[:, :, 0]
        levels.append(FeatureLevels(own[feature], count, values, bool(is_one_hot[feature])))
        stays = np.broadcast_to(person[where], (1, *block.shape[1:]))
        blocks.append(np.concatenate([stays, block]))
    return PlanLevels(person, lattice_of([feature for feature, _, _ in parts], levels, own), columns, blocks)


def _shares(count: Steps) -> Array:
    """The share of each change that is made after each step, of changes that take ``count`` (n,) steps, (n, K)."""
    return np.minimum(np.arange(1, count.max(initial=1) + 1) / count[:, np.newaxis], 1.0)


def _step_counts(space: Space, feature: int, change: Array) -> Steps:
    """The number of steps of a plan that raw changes of a feature take, (n,)."""
    if space.largest_step is None or np.isinf(space.largest_step[feature]):
        return np.ones(len(change), np.int64)
    return np.asarray(np.maximum(1, np.ceil(np.abs(change) / space.largest_step[feature] - ROUNDING)).astype(np.int64))
