"""The search for the cheapest plans of one person, under several ideas of what steps cost them."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..contract import Array, Indices
from .lattice import Lattice
from .plan_climb import PlanClimb
from .plan_order import (
    LEAST_SAVING,
    Levels,
    PlanTables,
    cheap_targets,
    cheapest_order,
    costs_in_order,
    lower_bounds,
    order_matters,
)
from .plan_targets import PlanTargets, ScoreLevels

MOST_AT_ONCE, PORTIONS = 4096, 10
"""Targets that are scored at once: at most so many, and this part of all that may be."""
MOST_PLANS = 50
"""The plans of a person that are kept."""
PROMISING = (0.8, 0.4)
"""Targets are searched first whose features, one by one, together gain this share of what is missing."""


class SearchBudget(NamedTuple):
    """The limits of the search for one person's plans.

    A plan has at most ``steps`` and changes at most ``changes`` features. No more targets are scored when ``rows``
    were. ``targets`` are compared at once; after ``partial`` ones of them only cheaper ones are looked for, and the
    others in another of at most ``passes`` over all. ``plans`` are found at most.
    """

    steps: int
    changes: int
    rows: int
    targets: int = 100_000
    partial: int = 10_000_000
    passes: int = 1_000_000
    plans: int = MOST_PLANS


class Plans(NamedTuple):
    """n plans of one person: the ``levels`` (n, M) of their targets, and their steps in ``order`` (n, K).

    The order names the movable feature of each step, -1 after the last. ``costs`` (n, S) are those under each sample.
    ``proven`` says that no other plan within the limits costs less under any sample, ``rows`` how many were scored.
    """

    levels: Indices
    order: Indices
    costs: Array
    proven: bool
    rows: int


def find_plans(lattice: Lattice, tables: PlanTables, score: ScoreLevels, budget: SearchBudget) -> Plans:
    """The plans of one person that are the cheapest, or nearly, under each of S samples of what steps cost.

    1. Climbs find some plans quickly (``PlanClimb``). They bound what the others may cost.
    2. Targets that may cost less under some sample are scored, the cheapest first (best-first search). What a target
       costs at least counts each influence as it costs least: the bound is admissible, so none is missed. The targets
       whose single changes promise enough come before others.
    3. The steps to each valid target are put in the order that costs least, for each sample.

    Parameters
    ----------
    lattice
        What the person may become.
    tables
        What that costs.
    score
        The model and the rules.
    budget
        Where the search ends.
    """
    targets = PlanTargets(lattice, tables, score, budget.steps)
    climb = PlanClimb(lattice, targets, budget.steps, budget.changes, budget.rows)
    climb.run()
    ends = [np.inf, *(share * climb.missing for share in PROMISING), -np.inf]
    proven = [_search(targets, budget, (climb.gains, least, below)) for below, least in pairwise(ends)]
    return _ordered(targets, budget, all(proven))


def _search(targets: PlanTargets, budget: SearchBudget, promise: tuple[Array, float, float]) -> bool:
    """Score the targets of some promise that may cost less than what is known, the cheapest first; whether all were."""
    movable, samples = len(targets.start), len(targets.bound)
    rows = np.empty((budget.targets, movable), np.intp)
    lower, key = np.empty((budget.targets, samples)), np.empty(budget.targets)
    limits = budget.steps, budget.changes, budget.partial
    known, threshold, complete, count, passes = np.zeros(samples), 0.0, True, 1, 0
    while threshold < 1.0 and count and targets.rows < budget.rows and passes < budget.passes:
        passes += 1
        bound = targets.bound
        count, threshold, are_lost = cheap_targets(
            targets.levels, targets.tables, bound, known, limits, promise, rows, lower, key
        )
        order = np.argsort(key[:count], kind="stable")
        _score_in_order(targets, budget, rows[order], lower[order])
        known, complete = threshold * bound, complete and not are_lost
    return complete and threshold == 1.0 and targets.rows < budget.rows


def _score_in_order(targets: PlanTargets, budget: SearchBudget, entries: Indices, lower: Array) -> None:
    """Score rows of entries (n, M) that may cost less than what is known by then, while the budget allows it."""
    ends, start = np.cumsum(targets.size(entries)), 0
    rows_at_once = min(MOST_AT_ONCE, max(1, budget.rows // PORTIONS))
    while start < len(entries) and targets.rows < budget.rows:
        last = int(np.searchsorted(ends, (ends[start - 1] if start else 0) + rows_at_once, "right"))
        chunk = slice(start, max(start + 1, last))
        is_cheap = (lower[chunk] < targets.bound - LEAST_SAVING).any(axis=1)
        if is_cheap.any():
            targets.score_entries(entries[chunk][is_cheap])
        start = chunk.stop


def _ordered(targets: PlanTargets, budget: SearchBudget, proven: bool) -> Plans:
    """The valid targets as plans: those that rank first under some sample before the others."""
    entries, levels = targets.valid
    best = leaders(lower_bounds(entries, targets.levels, targets.tables), budget.plans)
    owner, order, costs = _in_best_orders(entries[best], targets.levels, targets.tables, budget.steps)
    kept = leaders(costs, budget.plans)
    return Plans(levels[best[owner[kept]]], order[kept], costs[kept], proven, targets.rows)


def plans_to(lattice: Lattice, tables: PlanTables, levels: Indices) -> tuple[Indices, Plans]:
    """The plans to targets (n, M) of a lattice, and the number of the target of each.

    A target has a plan for each order of steps that costs least under a sample.
    """
    longest = int(lattice.steps[levels].sum(axis=1).max(initial=1))
    owner, order, costs = _in_best_orders(levels, lattice.levels, tables, longest)
    return owner, Plans(levels[owner], order, costs, proven=False, rows=0)


def _in_best_orders(
    targets: Indices, levels: Levels, tables: PlanTables, longest: int
) -> tuple[Indices, Indices, Array]:
    """The plans to targets (n, M): the target of each, its steps in order (P, K), and what it costs, (P, S)."""
    none = np.zeros((0, longest), np.intp)
    orders = [_orders(target, levels, tables, longest) for target in targets]
    order, owner = np.concatenate([none, *orders]), np.repeat(np.arange(len(targets)), [len(found) for found in orders])
    return owner, order, costs_in_order(targets[owner], order, levels, tables)


def _orders(target: Indices, levels: Levels, tables: PlanTables, longest: int) -> Indices:
    """The orders of steps (n, K) to a target (M,) that are the best for some sample."""
    samples = tables.alone.shape[2]
    weights = np.eye(samples) if order_matters(target, levels, tables) else np.ones((1, samples))
    orders = np.empty((len(weights), longest), np.intp)
    for number, probability in enumerate(weights):
        cheapest_order(target, levels, tables, probability, orders[number])
    return orders if len(orders) == 1 else np.unique(orders, axis=0)


def leaders(costs: Array, most: int) -> Indices:
    """At most so many plans of costs (n, S), by the best rank that each has under a sample.

    Examples
    --------
    >>> leaders(np.array([[1.0, 9.0], [2.0, 8.0], [3.0, 7.0]]), 2)
    array([0, 2])
    """
    rank = np.argsort(np.argsort(costs, axis=0, kind="stable"), axis=0, kind="stable")
    order = np.lexsort((costs.sum(axis=1), rank.min(axis=1)))
    return order[:most]


def distinct_leaders(losses: Array, most: int, least: float) -> Indices:
    """The leaders of losses (n, S), without those that no sample prefers to another by ``least``.

    So of plans that are nearly alike one is left.

    Examples
    --------
    >>> distinct_leaders(np.array([[1.0, 9.0], [1.01, 8.99], [3.0, 7.0]]), 3, 0.1)
    array([0, 2])
    """
    chosen: list[int] = []
    for plan in leaders(losses, len(losses)).tolist():
        if not (losses[chosen] < losses[plan] + least).all(axis=1).any():
            chosen.append(plan)
        if len(chosen) == most:
            break
    return np.array(chosen, np.intp)
