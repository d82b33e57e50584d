"""The search for cheap plans: targets in the order of their least cost, and the best order of steps, compiled.

A row of a level for each movable feature is a target. All costs are (S,), under S samples. The named
tuples stand here, since compiled functions take those of their own file alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ..contract import Array, Indices

LEAST_SAVING = 1e-9
"""A target is only of interest where it may cost less than is known already by more than this: less is rounding."""
NARROWED = 0.5
"""Where too many partial targets were looked at, the others must be cheaper by this factor."""
MOST_STATES = 5000
"""States of partly done plans that are compared to order the steps of one target."""
NEVER = 1e18


class Levels(NamedTuple):
    """The levels of M features: ``first`` (M + 1,), ``steps`` (L,) and ``path`` (L, K) are those of a ``Lattice``."""

    first: Indices
    steps: NDArray[np.int64]
    path: Array


class PlanTables(NamedTuple):
    r"""The costs of steps under S samples: $\max(floor, alone + base + \sum_q influence_q x_q)$.

    ``alone`` (L, K, S) is what each step to a level costs by itself. ``base`` (M, S) is what features add that stay as
    they are. Of movable feature m the influences ``parent_first[m] : parent_first[m + 1]`` are of the movable features
    ``parent`` (Q,) that may change, with ``influence`` (Q, S) for each unit of their values. ``own_value`` (M,) are the
    values of the movable features before. ``sequence`` (M,) are these features, each after those that influence it.
    ``stop`` is added once.
    """

    alone: Array
    base: Array
    parent_first: Indices
    parent: Indices
    influence: Array
    own_value: Array
    sequence: Indices
    floor: float
    stop: float


@compiled
def own_and_extremes(target: Indices, m: int, levels: Levels, tables: PlanTables, added: Array) -> None:
    """Put into ``added`` (S,) the least that other features add to each step of feature m on the way to a target.

    Each influencing feature has the value before or after its own steps, whichever costs less.
    """
    steps, parent, influence = levels.steps, tables.parent, tables.influence
    for s in range(len(added)):
        added[s] = tables.base[m, s]
    for q in range(tables.parent_first[m], tables.parent_first[m + 1]):
        before, level = tables.own_value[parent[q]], target[parent[q]]
        after = levels.path[level, steps[level] - 1] if steps[level] else before
        for s in range(len(added)):
            added[s] += min(influence[q, s] * before, influence[q, s] * after)


@compiled
def cheap_targets(
    levels: Levels,
    tables: PlanTables,
    bound: Array,
    known: Array,
    limits: tuple[int, int, int],
    promise: tuple[Array, float, float],
    targets: Indices,
    lower: Array,
    key: Array,
) -> tuple[int, float, bool]:
    """Put into ``targets`` (N, M) those that may cost less than ``bound`` (S,) under some sample.

    Those that may cost less than ``known`` (S,) under some sample are left out. ``limits`` are the most steps, the most
    features that change, and the number of partial targets after which fewer are looked for. ``promise`` is what each
    level adds to the log odds by itself (L,); the sum for a target is at least its second number, and below the third.

    ``lower`` (N, S) is what each target costs at least, ``key`` (N,) the least ratio of that to the bound. Of more than
    N targets, and of more partial ones than the limit, those with the smallest keys are kept. Returned are their
    number, the key that all with smaller ones are among them, and whether targets with this very key are lost.
    """
    first, steps, sequence = levels.first, levels.steps, tables.sequence
    most_steps, most_changes, most_visited = limits
    effect, least, below = promise
    movable, samples = len(sequence), len(bound)
    gained, ahead = np.zeros(movable + 1), most_ahead(effect, first, sequence)
    part, added = np.empty((movable + 1, samples)), np.empty((movable, samples))
    part[0] = tables.stop
    used, changed = np.zeros(movable + 1, np.intp), np.zeros(movable + 1, np.intp)
    target, place = first[:-1].copy(), np.full(movable, -1)
    count, threshold, depth, are_lost, visited = 0, 1.0, 0, False, 0
    while depth >= 0:
        if depth == movable:
            if used[depth] and least <= gained[depth] < below:
                count, threshold, lost = with_room(count, threshold, targets, lower, key)
                are_lost |= lost
                targets[count], lower[count] = target, part[depth]
                key[count] = least_ratio(part[depth], bound, known)
                count += key[count] < threshold
            depth -= 1
            continue
        m = sequence[depth]
        if place[depth] < 0:
            own_and_extremes(target, m, levels, tables, added[depth])
            place[depth] = first[m]
        else:
            place[depth] += 1
        level = place[depth]
        if level == first[m + 1]:
            place[depth], target[m] = -1, first[m]
            depth -= 1
            continue
        more = steps[level]
        if used[depth] + more > most_steps or changed[depth] + (more > 0) > most_changes:
            continue
        target[m] = level
        gained[depth + 1] = gained[depth] + effect[level]
        if gained[depth + 1] + ahead[depth + 1] < least:
            continue
        cost_after(part[depth], level, levels, tables, added[depth], part[depth + 1])
        is_cheap = more == 0 or is_below(part[depth + 1], threshold, bound)
        visited += 1
        if visited % most_visited == 0:
            threshold *= NARROWED
        if is_cheap:
            used[depth + 1], changed[depth + 1] = used[depth] + more, changed[depth] + (more > 0)
            depth += 1
    return kept_below(threshold, count, targets, lower, key), threshold, are_lost


@compiled
def most_ahead(effect: Array, first: Indices, sequence: Indices) -> Array:
    """The most that the features from each place of the sequence on can add to the log odds, (M + 1,)."""
    ahead = np.zeros(len(sequence) + 1)
    for d in range(len(sequence) - 1, -1, -1):
        m = sequence[d]
        ahead[d] = ahead[d + 1] + max(0.0, effect[first[m] : first[m + 1]].max())
    return ahead


@compiled
def with_room(count: int, threshold: float, targets: Indices, lower: Array, key: Array) -> tuple[int, float, bool]:
    """Of as many targets as there is room for keep those with the smaller keys; say whether some of this key are lost.

    Returned are also their number and the key that they are below.
    """
    if count < len(targets):
        return count, threshold, False
    threshold = np.median(key)
    count = kept_below(threshold, count, targets, lower, key)
    # Many targets cost the same, where all steps cost the least that a step can.
    return (count, threshold, False) if count else (len(targets) // 2, threshold, True)


@compiled
def kept_below(threshold: float, count: int, targets: Indices, lower: Array, key: Array) -> int:
    """Keep those of the first targets whose keys are below a threshold in front; return their number."""
    kept = 0
    for row in range(count):
        if key[row] < threshold:
            targets[kept], lower[kept], key[kept] = targets[row], lower[row], key[row]
            kept += 1
    return kept


@compiled
def cost_after(before: Array, level: int, levels: Levels, tables: PlanTables, added: Array, after: Array) -> None:
    """Put into ``after`` (S,) what a partial target costs at least with the steps to one more level."""
    for s in range(len(after)):
        after[s] = before[s]
        for step in range(levels.steps[level]):
            after[s] += max(tables.floor, tables.alone[level, step, s] + added[s])


@compiled
def least_ratio(cost: Array, bound: Array, known: Array) -> float:
    """The least ratio of costs (S,) to the bound (S,); ``NEVER`` where one may be below what is known (S,)."""
    least = NEVER
    for s in range(len(cost)):
        if cost[s] < known[s] - LEAST_SAVING:
            return NEVER
        least = min(least, cost[s] / max(bound[s], LEAST_SAVING))
    return least


@compiled
def is_below(cost: Array, share: float, bound: Array) -> bool:
    """Whether one of some costs (S,) is below its share of the bound (S,)."""
    for s in range(len(cost)):  # noqa: SIM110 (numba compiles no generator)
        if cost[s] < share * bound[s] - LEAST_SAVING:
            return True
    return False


@compiled
def lower_bounds(targets: Indices, levels: Levels, tables: PlanTables) -> Array:
    """A lower bound of the costs of targets (N, M), (N, S)."""
    steps, alone, floor = levels.steps, tables.alone, tables.floor
    samples = alone.shape[2]
    lower, added = np.full((len(targets), samples), tables.stop), np.empty(samples)
    for row in range(len(targets)):
        for m in tables.sequence:
            level = targets[row, m]
            if steps[level]:
                own_and_extremes(targets[row], m, levels, tables, added)
                for step in range(steps[level]):
                    for s in range(samples):
                        lower[row, s] += max(floor, alone[level, step, s] + added[s])
    return lower


@compiled
def order_matters(target: Indices, levels: Levels, tables: PlanTables) -> bool:
    """Whether a change of one feature of the target makes that of another cheaper or dearer."""
    steps = levels.steps
    for m in tables.sequence:
        if steps[target[m]]:
            for q in range(tables.parent_first[m], tables.parent_first[m + 1]):
                if steps[target[tables.parent[q]]]:
                    return True
    return False


@compiled
def step_cost(target: Indices, done: Indices, m: int, levels: Levels, tables: PlanTables, cost: Array) -> None:
    """Put into ``cost`` (S,) that of the next step of feature m, after ``done`` (M,) steps of each feature."""
    for s in range(len(cost)):
        cost[s] = tables.alone[target[m], done[m], s] + tables.base[m, s]
    for q in range(tables.parent_first[m], tables.parent_first[m + 1]):
        j = tables.parent[q]
        value = levels.path[target[j], done[j] - 1] if done[j] else tables.own_value[j]
        for s in range(len(cost)):
            cost[s] += tables.influence[q, s] * value
    for s in range(len(cost)):
        cost[s] = max(tables.floor, cost[s])


@compiled
def cheapest_order(target: Indices, levels: Levels, tables: PlanTables, probability: Array, order: Indices) -> None:
    """Put into ``order`` (K,) the steps to a target, as movable features, whose expected cost is least; then -1.

    A shortest path over the numbers of steps that are done of each feature; where there are too many of these, the
    cheapest next step again and again. ``probability`` (S,) is that of the samples.
    """
    steps = levels.steps
    order[:] = -1
    chosen = np.array([m for m in range(len(target)) if steps[target[m]]])
    if not len(chosen):
        return
    counts = steps[target[chosen]] + 1
    stride = np.ones(len(chosen), np.intp)
    for i in range(1, len(chosen)):
        stride[i] = stride[i - 1] * counts[i - 1]
    states = stride[-1] * counts[-1]
    if states > MOST_STATES:
        next_cheapest(target, levels, tables, probability, order)
        return
    least, last = np.full(states, NEVER), np.full(states, -1)
    least[0] = 0.0
    done, cost = np.zeros(len(target), np.intp), np.empty(len(probability))
    for state in range(states):
        for i in range(len(chosen)):
            done[chosen[i]] = state // stride[i] % counts[i]
        for i in range(len(chosen)):
            if done[chosen[i]] == counts[i] - 1:
                continue
            step_cost(target, done, chosen[i], levels, tables, cost)
            total = least[state]
            for s in range(len(cost)):
                total += probability[s] * cost[s]
            if total < least[state + stride[i]] - LEAST_SAVING:
                least[state + stride[i]], last[state + stride[i]] = total, i
    state, place = states - 1, (counts - 1).sum() - 1
    while state:
        order[place] = chosen[last[state]]
        state -= stride[last[state]]
        place -= 1


@compiled
def next_cheapest(target: Indices, levels: Levels, tables: PlanTables, probability: Array, order: Indices) -> None:
    """Put into ``order`` (K,) the steps to a target, the cheapest next one again and again; then -1."""
    steps = levels.steps
    done, cost = np.zeros(len(target), np.intp), np.empty(len(probability))
    for place in range(len(order)):
        least = NEVER
        for m in range(len(target)):
            if done[m] < steps[target[m]]:
                step_cost(target, done, m, levels, tables, cost)
                total = 0.0
                for s in range(len(cost)):
                    total += probability[s] * cost[s]
                if total < least:
                    order[place], least = m, total
        if least == NEVER:
            break
        done[order[place]] += 1


@compiled
def least_costs(targets: Indices, longest: int, levels: Levels, tables: PlanTables) -> Array:
    """The costs of targets (n, M) of at most ``longest`` steps, in the best order of steps for each sample, (n, S)."""
    samples = tables.alone.shape[2]
    least = np.empty((len(targets), samples))
    orders, probability = np.empty((1, longest), np.intp), np.zeros(samples)
    for row in range(len(targets)):
        target = targets[row : row + 1]
        if not order_matters(target[0], levels, tables):
            cheapest_order(target[0], levels, tables, probability, orders[0])
            least[row] = costs_in_order(target, orders, levels, tables)[0]
            continue
        for s in range(samples):
            probability[s] = 1.0
            cheapest_order(target[0], levels, tables, probability, orders[0])
            least[row, s] = costs_in_order(target, orders, levels, tables)[0, s]
            probability[s] = 0.0
    return least


@compiled
def costs_of_steps(target: Indices, order: Indices, levels: Levels, tables: PlanTables) -> Array:
    """The costs (K, S) of the steps to a target (M,) in an order (K,), 0 after the last."""
    costs, done = np.zeros((len(order), tables.alone.shape[2])), np.zeros(len(target), np.intp)
    for step in range(len(order)):
        if order[step] < 0:
            break
        step_cost(target, done, order[step], levels, tables, costs[step])
        done[order[step]] += 1
    return costs


@compiled
def costs_in_order(targets: Indices, orders: Indices, levels: Levels, tables: PlanTables) -> Array:
    """The costs (n, S) of n plans: targets (n, M) in these orders of steps (n, K)."""
    total = np.full((len(targets), tables.alone.shape[2]), tables.stop)
    for plan in range(len(targets)):
        costs = costs_of_steps(targets[plan], orders[plan], levels, tables)
        for step in range(len(costs)):
            total[plan] += costs[step]
    return total
