"""COLS as the paper describes it: the set changes place by place, and its EMC never rises."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onward.agents.choices.components.min_cost import expected_min_cost, greedy, swaps

from .cols import RUNS, Found
from .data import Array, DataSet, Rows
from .sampler import UNREACHABLE, cost_of

EDITS = 2
"""Features that a perturbation changes at most."""


def cols(
    data: DataSet, person: Rows, costs: Array, random: np.random.Generator, size: int = 10, budget: int = 5000
) -> Found:
    """The set of corrected COLS for a person (F,), whose cost functions are ``costs`` (V, M).

    Perturbations are what the person may do, a set is worth the EMC with the cap F, and exact exchanges of one row
    are made until none helps.
    """
    return _search(data, person, costs, random, size, budget)[0]


def p_cols(
    data: DataSet, person: Rows, costs: Array, random: np.random.Generator, size: int = 10, budget: int = 5000
) -> Found:
    """The set of the least EMC among several runs that share the budget."""
    runs = [_search(data, person, costs, random, size, budget // RUNS) for _ in range(RUNS)]
    best = min(range(RUNS), key=lambda run: runs[run][1])
    sums = (sum(getattr(found, field) for found, _ in runs) for field in ("model_rows", "updates", "rises"))
    return Found(runs[best][0].rows, *sums)


def _search(
    data: DataSet, person: Rows, costs: Array, random: np.random.Generator, size: int, budget: int
) -> tuple[Found, float]:
    allowed = [_allowed(data, person, number) for number in range(len(person))]
    weights, cap = np.ones(costs.shape[1]), float(len(person))
    best, best_costs = np.zeros((0, len(person)), dtype=np.int64), np.zeros((0, costs.shape[1]))
    emc, spent, updates, rises = cap, 0, 0, 0
    while spent < budget:
        base = np.concatenate([best, np.repeat(person[np.newaxis], size - len(best), axis=0)])
        new = np.unique(_perturbed(person, base, allowed, random), axis=0)
        spent += len(new)
        new = new[data.accepts(new)]
        pool = np.concatenate([best, new])
        paid = cost_of(data, new, costs)
        paid = np.concatenate([best_costs, np.where(paid < UNREACHABLE, paid, np.inf)])
        chosen = np.arange(len(best))
        if len(best) < size:
            chosen, gains = greedy(paid, weights, cap, size)
            chosen = chosen[gains > 0.0]
        chosen = swaps(paid, weights, cap, chosen)
        if not np.array_equal(chosen, np.arange(len(best))):
            after = expected_min_cost(paid, weights, cap, chosen)
            updates, rises, emc = updates + 1, rises + int(after > emc), after
            best, best_costs = pool[chosen], paid[chosen]
    return Found(best, spent, updates, rises), emc


def _allowed(data: DataSet, person: Rows, number: int) -> NDArray[np.int64]:
    """The values that a person's feature may have, the own one among them."""
    feature, own = data.features[number], int(person[number])
    values = np.arange(feature.low, feature.high + 1)
    if feature.kind == "fixed":
        return np.array([own])
    allowed: Rows = values[(values - own) * feature.direction >= 0]
    return allowed


def _perturbed(person: Rows, rows: Rows, allowed: list[NDArray[np.int64]], random: np.random.Generator) -> Rows:
    """Rows (R, F) with one or two features of other values that are allowed, or back at the person's own."""
    new = rows.copy()
    free = [number for number, values in enumerate(allowed) if len(values) > 1]
    for row in new:
        for number in random.choice(free, min(len(free), int(random.integers(1, EDITS + 1))), replace=False):
            row[number] = random.choice(allowed[number])
    changed: Rows = new[(new != person).any(axis=1)]
    return changed
