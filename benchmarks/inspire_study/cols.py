"""COLS and P-COLS (algorithms 1 and 5) as the authors' code has them, its errors included, compiled.

A set of N rows is perturbed until a budget of model rows is spent. Valid rows that seem to lower the expected minimum
cost take the places of others. The errors: all places of the set change at once, so its EMC can rise; an infeasible
change costs 99999, so coverage is all that counts; every second perturbation changes a fixed feature or goes in a
forbidden direction. A fourth one is left out unless it is asked for (``misplaces``): the best rows to add are looked up
in the wrong array. The stored results agree with the algorithm without it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.agents.compiled import compiled

from .data import Array, DataSet, Rows
from .sampler import FORBIDDEN

Indices = NDArray[np.intp]

RUNS = 5
"""Runs of P-COLS, each with its part of the budget."""
ATTEMPTS, RANDOM_AFTER = 16, 10
"""Sets that are tried until one holds a valid row; those after RANDOM_AFTER are drawn from the whole space."""
EDITS = 2
"""Features that a perturbation changes at most."""
DRAWS = 1 + 2 * EDITS
"""Uniform numbers that the perturbation of a row takes."""

Space = tuple[Rows, Rows, NDArray[np.bool_], Indices]
"""``low``, ``span`` and ``is_integer`` of each feature (F,), and where its values begin in the costs (F + 1,)."""
Network = tuple[Array, Array, Array, Array, Array, Array]
"""The fields of ``data.Network``, one after the other."""


class Found(NamedTuple):
    """What a search found: rows (N, F), the number of model rows, and how many updates of the set raised its EMC."""

    rows: Rows
    model_rows: int
    updates: int
    rises: int


def cols(
    data: DataSet,
    person: Rows,
    costs: Array,
    random: np.random.Generator,
    size: int = 10,
    budget: int = 5000,
    *,
    misplaces: bool = False,
) -> Found:
    """The set of COLS for a person (F,), whose cost functions are ``costs`` (V, M)."""
    return _search(data, person, costs, random, size, budget, misplaces)[0]


def p_cols(
    data: DataSet, person: Rows, costs: Array, random: np.random.Generator, size: int = 10, budget: int = 5000
) -> Found:
    """The set of the least mean cost among several runs of COLS that share the budget."""
    runs = [_search(data, person, costs, random, size, budget // RUNS, False) for _ in range(RUNS)]
    best = min(range(RUNS), key=lambda run: runs[run][1])
    sums = (sum(getattr(found, field) for found, _ in runs) for field in ("model_rows", "updates", "rises"))
    return Found(runs[best][0].rows, *sums)


def _search(
    data: DataSet,
    person: Rows,
    costs: Array,
    random: np.random.Generator,
    size: int,
    budget: int,
    misplaces: bool,
) -> tuple[Found, float]:
    rounds = ATTEMPTS + budget // size + 2
    draws = random.uniform(size=(rounds, size, max(DRAWS, len(person))))
    space = data.low, data.span, data.is_integer, data.offsets
    network = data.network
    layers = network.low, network.width, *network.hidden, *network.output
    rows, counts, score = search(person, space, layers, costs, draws, size, budget, misplaces)
    return Found(rows, *counts.tolist()), score


@compiled
def search(
    person: Rows,
    space: Space,
    network: Network,
    costs: Array,
    draws: Array,
    size: int,
    budget: int,
    misplaces: bool,
) -> tuple[Rows, NDArray[np.int64], float]:
    """The set (N, F); the model rows, the updates and those that raised the EMC; the mean of the least costs."""
    features, samples = len(person), costs.shape[1]
    queue = np.empty((size, features), np.int64)
    best, best_costs = np.empty((size, features), np.int64), np.empty((size, samples))
    new, new_costs = np.empty((size, features), np.int64), np.empty((size, samples))
    counts = np.zeros(3, np.int64)
    held, turn = 0, 0
    while held == 0 and turn < ATTEMPTS:
        for row in range(size):
            if turn < RANDOM_AFTER:
                queue[row] = person
                perturb(queue[row], space, draws[turn, row], EDITS)
            else:
                scatter(queue[row], space, draws[turn, row])
        held = measure(queue, best, best_costs, space, network, costs)
        counts[0] += size
        turn += 1
    while counts[0] < budget:
        for row in range(size):
            new[row] = queue[row]
        for row in range(size):
            edits = 1 if draws[turn, row, 0] < 0.5 else EDITS
            perturb(new[row], space, draws[turn, row], edits)
        valid = measure(new, new, new_costs, space, network, costs)
        counts[0] += size
        turn += 1
        if valid == 0:
            continue
        if held < size:
            held = add(best, best_costs, held, new, new_costs, valid, misplaces)
        else:
            replace(best, best_costs, new, new_costs, valid, counts)
        # The queue holds the last rows of itself and the best ones.
        for row in range(size - held):
            queue[row] = queue[row + held]
        for row in range(held):
            queue[size - held + row] = best[row]
    if held < size:
        for row in range(held, size):
            scatter(best[row], space, draws[turn, row])
        counts[0] += size
        held = measure(best, new, best_costs, space, network, costs)
    score, invalid = 0.0, FORBIDDEN if held < size else np.inf
    for i in range(samples):
        least = invalid
        for row in range(held):
            least = min(least, best_costs[row, i])
        score += least / samples
    return best, counts, score


@compiled
def perturb(row: Rows, space: Space, draw: Array, edits: int) -> None:
    """Give ``edits`` different features of a row (F,) other values, fixed ones too, in place.

    A category becomes another one; a number any number, also the same.
    """
    low, span, is_integer, _ = space
    features = len(row)
    taken = -1
    for edit in range(edits):
        feature = int(draw[1 + 2 * edit] * (features - edit))
        if edit and feature >= taken:
            feature += 1
        taken = feature
        value = draw[2 + 2 * edit]
        if is_integer[feature]:
            row[feature] = low[feature] + int(value * (span[feature] + 1))
        else:
            category = int(value * span[feature])
            row[feature] = category + 1 if category >= row[feature] else category


@compiled
def scatter(row: Rows, space: Space, draw: Array) -> None:
    """Give every feature of a row (F,) any of its values, in place."""
    low, span, _, _ = space
    for feature in range(len(row)):
        row[feature] = low[feature] + int(draw[feature] * (span[feature] + 1))


@compiled
def measure(rows: Rows, valid: Rows, cost: Array, space: Space, network: Network, costs: Array) -> int:
    """The number of valid ones among ``rows`` (N, F); they are put into ``valid``, their costs into ``cost`` (N, M)."""
    low, _, _, offsets = space
    count = 0
    for row in range(len(rows)):
        if accepted(rows[row], network):
            valid[count] = rows[row]
            cost[count] = 0.0
            for feature in range(rows.shape[1]):
                cost[count] += costs[offsets[feature] + valid[count, feature] - low[feature]]
            count += 1
    return count


@compiled
def accepted(row: Rows, network: Network) -> bool:
    """Whether the classifier accepts a row (F,)."""
    low, width, hidden, hidden_bias, output, bias = network
    odds = bias[1] - bias[0]
    for unit in range(len(hidden_bias)):
        value = hidden_bias[unit]
        for feature in range(len(row)):
            value += hidden[unit, feature] * (row[feature] - low[feature]) / width[feature]
        if value > 0.0:
            odds += value * (output[1, unit] - output[0, unit])
    return bool(odds >= 0.0)


@compiled
def add(best: Rows, best_costs: Array, held: int, new: Rows, new_costs: Array, valid: int, misplaces: bool) -> int:
    """Add valid rows to a set that is not full, those of the largest benefit first; the number of rows it then holds.

    Where it ``misplaces``, the places among the rows with a benefit are used as places among all rows.
    """
    benefit, helpful = np.zeros(valid), 0
    for row in range(valid):
        total = 0.0
        for i in range(new_costs.shape[1]):
            least = FORBIDDEN * new.shape[1]
            for other in range(held):
                least = min(least, best_costs[other, i])
            total += max(0.0, least - new_costs[row, i])
        place = helpful if misplaces else row
        benefit[row] = 0.0
        benefit[place] = max(total, benefit[place])
        helpful += 1 if total > 0.0 else 0
    order = np.argsort(-benefit)
    for place in range(min(helpful, len(best) - held)):
        best[held] = new[order[place]]
        best_costs[held] = new_costs[order[place]]
        held += 1
    return held


@compiled
def replace(best: Rows, best_costs: Array, new: Rows, new_costs: Array, valid: int, counts: NDArray[np.int64]) -> None:
    """Let new rows take the places of those that they seem to be better than, all at once, in place.

    The benefit counts the samples whose cheapest row leaves, and no others. One new row may take several places.
    """
    size, samples = best_costs.shape
    benefit = np.zeros((size, valid))
    before = 0.0
    for i in range(samples):
        owner, first, second = 0, np.inf, np.inf
        for row in range(size):
            cost = best_costs[row, i]
            if cost < first:
                owner, first, second = row, cost, first
            elif cost < second:
                second = cost
        before += capped(first, new.shape[1])
        for row in range(valid):
            benefit[owner, row] += first - min(new_costs[row, i], second)
    place_of = np.full(size, -1)
    for row in range(valid):
        for place in range(size):
            if benefit[place, row] > 0.0 and place_of[place] < 0:
                place_of[place] = row
    changed = 0
    for place in range(size):
        if place_of[place] >= 0:
            best[place], best_costs[place] = new[place_of[place]], new_costs[place_of[place]]
            changed += 1
    if changed:
        after = 0.0
        for i in range(samples):
            after += capped(best_costs[:, i].min(), new.shape[1])
        counts[1] += 1
        if after > before:
            counts[2] += 1


@compiled
def capped(cost: float, cap: float) -> float:
    """A cost, or the cap where it holds a forbidden change."""
    return cost if cost < FORBIDDEN else cap
