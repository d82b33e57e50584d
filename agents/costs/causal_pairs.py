"""Expected costs of many changes of many people, each in the cheapest order of steps, compiled."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array, Indices
from ..compiled import compiled

Layout = tuple[Indices, Indices, Indices]
"""The first column and the number of columns of each feature, (F,) each, and the edges (E, 2): parent and child."""
Kinds = tuple[Array, Array, Array]
"""The probabilities (M,), means (M, P) and covariances (M, P, P) of the components of a prior."""
Constants = tuple[float, float, float]
"""Floor, offset and stop."""
Model = tuple[Indices, Kinds, Constants]
"""The edges, and these."""

MOST_ORDERED = 10
"""Of more features the cheapest next step is taken, again and again: 2^F orders would be compared."""
ROOT_2 = math.sqrt(2.0)
ROOT_2_PI = math.sqrt(2.0 * math.pi)


@compiled
def above_floor(mean: float, sd: float, floor: float) -> float:
    """The expected value of max(floor, X) for a Gaussian X.

    Examples
    --------
    >>> above_floor(1.0, 0.0, 2.0), round(above_floor(1.0, 1.0, 1.0), 4)
    (2.0, 1.3989)
    """
    if sd <= 0.0:
        return max(floor, mean)
    z = (mean - floor) / sd
    return floor + (mean - floor) * 0.5 * (1.0 + math.erf(z / ROOT_2)) + sd * math.exp(-0.5 * z * z) / ROOT_2_PI


@compiled
def expected_step(feature: int, size: float, values: Array, model: Model) -> float:
    """The expected cost of a step of a feature, at ``values`` (F,) before."""
    edges, (mass, means, covariances), (floor, offset, _) = model
    column, coefficient = np.empty(len(edges) + 1, np.intp), np.empty(len(edges) + 1)
    column[0], coefficient[0], count = feature, size, 1
    for e in range(len(edges)):
        if edges[e, 1] == feature:
            column[count], coefficient[count] = len(values) + e, offset + values[edges[e, 0]]
            count += 1
    total = 0.0
    for kind in range(len(mass)):
        mean, variance = 0.0, 0.0
        for i in range(count):
            mean += coefficient[i] * means[kind, column[i]]
            for j in range(count):
                variance += coefficient[i] * coefficient[j] * covariances[kind, column[i], column[j]]
        total += mass[kind] * above_floor(mean, math.sqrt(max(variance, 0.0)), floor)
    return total


@compiled
def cheapest(changed: Indices, sizes: Array, before: Array, after: Array, model: Model) -> float:
    """The cost of steps of ``changed`` features (C,) in the cheapest order: a shortest path over sets of features."""
    count = len(changed)
    values = before.copy()
    if count > MOST_ORDERED:
        return in_turn(changed, sizes, values, after, model)
    least = np.full(1 << count, np.inf)
    least[0] = 0.0
    for done in range((1 << count) - 1):
        for i in range(count):
            values[changed[i]] = after[changed[i]] if done >> i & 1 else before[changed[i]]
        for i in range(count):
            if not done >> i & 1:
                cost = least[done] + expected_step(changed[i], sizes[changed[i]], values, model)
                least[done | 1 << i] = min(least[done | 1 << i], cost)
    return float(least[-1])


@compiled
def in_turn(changed: Indices, sizes: Array, values: Array, after: Array, model: Model) -> float:
    """The cost of the steps when the cheapest next one is taken, again and again. ``values`` (F,) change."""
    total, left = 0.0, np.ones(len(changed), np.bool_)
    for _ in range(len(changed)):
        best, least = -1, np.inf
        for i in range(len(changed)):
            if left[i]:
                cost = expected_step(changed[i], sizes[changed[i]], values, model)
                if cost < least:
                    best, least = i, cost
        total += least
        left[best] = False
        values[changed[best]] = after[changed[best]]
    return total


@compiled
def pair_costs(
    candidates: Array,
    people: Array,
    pairs: tuple[Indices, Indices],
    layout: Layout,
    kinds: Kinds,
    constants: Constants,
    cost: Array,
) -> None:
    """Put what it is expected to cost people to become candidates into ``cost`` (P,).

    The ``pairs`` are the numbers of the candidates and of the people, (P,) each.
    """
    index, owner = pairs
    first, width, edges = layout
    features, stop, model = len(first), constants[2], (edges, kinds, constants)
    before, after, size = np.empty(features), np.empty(features), np.empty(features)
    for pair in range(len(cost)):
        count, person, target = 0, people[owner[pair]], candidates[index[pair]]
        chosen = np.empty(features, np.intp)
        for f in range(features):
            before[f] = after[f] = 1.0
            if width[f] == 1:
                before[f], after[f] = person[first[f]], target[first[f]]
            size[f] = abs(after[f] - before[f])
            for d in range(first[f], first[f] + width[f]):
                if person[d] != target[d]:
                    chosen[count] = f
                    count += 1
                    size[f] = 1.0 if width[f] > 1 else size[f]
                    break
        chosen = chosen[:count]
        if count == 0:
            cost[pair] = 0.0
        elif interact(chosen, before, after, edges):
            cost[pair] = stop + cheapest(chosen, size, before, after, model)
        else:
            cost[pair] = stop
            for at in range(count):
                feature = chosen[at]
                cost[pair] += expected_step(feature, size[feature], before, model)


@compiled
def interact(chosen: Indices, before: Array, after: Array, edges: Indices) -> bool:
    """Whether one of the ``chosen`` features influences what it costs to change another of them."""
    for e in range(len(edges)):
        parent, child = edges[e]
        if before[parent] != after[parent]:
            for f in chosen:
                if f == child:
                    return True
    return False
