"""The costs of the steps of a lattice under several samples of a person's weights, as tables."""

from __future__ import annotations

import numpy as np

from ...costs.causal import CostStructure
from ...costs.plan_costs import PlanCosts
from ..contract import Array, Indices
from .lattice import Lattice
from .plan_order import PlanTables


def plan_tables(structure: CostStructure, lattice: Lattice, weights: Array) -> PlanTables:
    """The tables of a lattice whose steps cost what the structure says, under weights (S, P)."""
    samples, movable = len(weights), {int(feature): m for m, feature in enumerate(lattice.features)}
    alone = lattice.size[:, :, np.newaxis] * weights.T[lattice.features][lattice.feature_of][:, np.newaxis, :]
    base = np.zeros((len(movable), samples))
    parents: list[tuple[int, Array]] = []
    parent_first = np.zeros(len(movable) + 1, np.intp)
    for feature, m in movable.items():
        for other, column in structure.influences(feature):
            base[m] += weights[:, column] * structure.offset
            if other in movable and _varies(lattice, movable[other]):
                parents.append((movable[other], weights[:, column]))
            else:
                base[m] += weights[:, column] * lattice.own[other]
        parent_first[m + 1] = len(parents)
    return PlanTables(
        np.ascontiguousarray(alone),
        base,
        parent_first,
        np.array([parent for parent, _ in parents], np.intp),
        np.array([influence for _, influence in parents]).reshape(-1, samples),
        lattice.own[lattice.features],
        np.array([movable[feature] for feature in structure.order if feature in movable], np.intp),
        structure.floor,
        structure.stop,
    )


def additive_tables(lattice: Lattice, costs: Array) -> PlanTables:
    """The tables of a lattice whose levels cost (L, S), each in equal parts for its steps, whatever the others are."""
    movable, samples = len(lattice.features), costs.shape[1]
    taken = np.arange(lattice.path.shape[1]) < lattice.steps[:, np.newaxis]
    alone = (taken / np.maximum(lattice.steps, 1)[:, np.newaxis])[:, :, np.newaxis] * costs[:, np.newaxis, :]
    nothing = np.zeros(0, np.intp)
    return PlanTables(
        np.ascontiguousarray(alone),  # for an array in another order everything would be compiled once more
        np.zeros((movable, samples)),
        np.zeros(movable + 1, np.intp),
        nothing,
        np.zeros((0, samples)),
        lattice.own[lattice.features],
        np.arange(movable),
        0.0,
        0.0,
    )


def _varies(lattice: Lattice, m: int) -> bool:
    """Whether steps change the value of a movable feature: those of one-hot features are always 1."""
    levels = slice(lattice.first[m], lattice.first[m + 1])
    taken = np.arange(lattice.path.shape[1]) < lattice.steps[levels, np.newaxis]
    return bool((lattice.path[levels][taken] != lattice.own[lattice.features[m]]).any())


def plan_costs(structure: CostStructure, lattice: Lattice, levels: Indices, order: Indices) -> PlanCosts:
    """The costs of n plans under any weights: their ``levels`` (n, M), with steps in ``order`` (n, K).

    The order names the movable feature of each step, -1 after the last.
    """
    count, longest = order.shape
    values = np.repeat(lattice.own[np.newaxis], count, axis=0)
    done = np.zeros((count, len(lattice.features)), np.int64)
    steps = np.full((count, longest), -1, np.intp)
    parts, before = [], 0
    for step in range(longest):
        rows = np.flatnonzero(order[:, step] >= 0)
        m = order[rows, step]
        level, number = levels[rows, m], done[rows, m]
        parts.append(structure.coefficients(lattice.features[m], lattice.size[level, number], values[rows]))
        steps[rows, step] = before + np.arange(len(rows))
        values[rows, lattice.features[m]] = lattice.path[level, number]
        done[rows, m] += 1
        before += len(rows)
    coefficients, distinct = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
    steps[steps >= 0] = distinct.ravel()[steps[steps >= 0]]
    return PlanCosts(coefficients, steps, structure.floor, structure.stop)
