r"""The set of options of which one is cheap, whatever a person's costs are: expected minimum cost (EMC), compiled.

``costs`` (P, S) are those of P options in S samples of a person's cost, infinite where an option cannot be carried out.
``weights`` (S,) are those of the samples, not negative, one above 0. ``cap`` is what a sample costs that no option of
the set serves for less; the empty set costs it everywhere. Options are named by their places in ``costs``.

The gain of a set, $f(A) = \sum_i w_i (c - \min(c, \min_{a \in A} c_{ai}))$, is monotone and submodular. So ``greedy``
has at least $1 - 1/e$ of the largest gain of a set of its size, and ``swaps`` only add to it. With costs that are
negative utilities and a cap of 0, the gain is the expected utility of the best option of the set.

References
----------
Yadav, P., Hase, P. and Bansal, M. (2024). Low-Cost Algorithmic Recourse for Users With Uncertain Cost Functions.
TMLR.
Nemhauser, G. L., Wolsey, L. A. and Fisher, M. L. (1978). An Analysis of Approximations for Maximizing Submodular Set
Functions. Mathematical Programming. Minoux, M. (1978). Accelerated Greedy Algorithms for Maximizing Submodular Set
Functions: the bounds of ``greedy``.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Indices
from ...compiled import compiled

LEAST_DECREASE = 1e-12
"""A swap lowers the EMC by more than this share of it: less is rounding."""


@compiled
def expected_min_cost(costs: Array, weights: Array, cap: float, chosen: Indices) -> float:
    """The mean over the samples of the least cost of the ``chosen`` options, (k,), at most ``cap``.

    Examples
    --------
    >>> costs = np.array([[1.0, np.inf], [np.inf, 3.0]])
    >>> expected_min_cost(costs, np.array([0.5, 0.5]), 9.0, np.array([0]))
    5.0
    >>> expected_min_cost(costs, np.array([0.5, 0.5]), 9.0, np.array([0, 1]))
    2.0
    """
    total, weight = 0.0, 0.0
    for i in range(len(weights)):
        least = cap
        for option in chosen:
            least = min(least, costs[option, i])
        total += weights[i] * least
        weight += weights[i]
    return total / weight


@compiled
def greedy(costs: Array, weights: Array, cap: float, size: int) -> tuple[Indices, Array]:
    """At most ``size`` options, (k,), each the one that adds most to those before it, and what each adds, (k,).

    The gains never rise; the first of equals is taken, also of those that add nothing.

    Examples
    --------
    >>> costs = np.array([[1.0, 2.0, 9.0], [0.0, 3.0, 9.0], [9.0, 9.0, 0.0]])
    >>> greedy(costs, np.ones(3), 9.0, 2)
    (array([0, 2]), array([15.,  9.]))
    """
    count = min(size, len(costs))
    chosen, added = np.empty(count, np.intp), np.empty(count)
    least = np.full(len(weights), cap)
    # A gain can only fall, so one that was computed earlier is a bound, also in floating point.
    bound, fresh = np.full(len(costs), np.inf), np.full(len(costs), -1)
    for rank in range(count):
        best = int(np.argmax(bound))
        while fresh[best] != rank:
            bound[best], fresh[best] = gain_of(costs[best], weights, least), rank
            best = int(np.argmax(bound))
        chosen[rank], added[rank], bound[best] = best, bound[best], -np.inf
        for i in range(len(weights)):
            least[i] = min(least[i], costs[best, i])
    return chosen, added


@compiled
def gains(costs: Array, weights: Array, least: Array) -> Array:
    """The gain of each option where the least costs of a set are ``least`` (S,), (P,)."""
    added = np.empty(len(costs))
    for option in range(len(costs)):
        added[option] = gain_of(costs[option], weights, least)
    return added


@compiled
def gain_of(cost: Array, weights: Array, least: Array) -> float:
    """The gain of an option of these costs (S,) where the least costs are ``least`` (S,)."""
    gain = 0.0
    for i in range(len(weights)):
        gain += weights[i] * max(least[i] - cost[i], 0.0)
    return gain


@compiled
def swaps(costs: Array, weights: Array, cap: float, chosen: Indices) -> Indices:
    """The ``chosen`` options, (k,), after exchanges of one of them for another, the best first, until none helps.

    An exchange keeps the place of the option in the set. The EMC falls at each; of equal exchanges the first is made.

    Examples
    --------
    >>> costs = np.array([[2.0, 2.0, 2.0, 2.0], [0.0, 0.0, 5.0, 5.0], [5.0, 5.0, 0.0, 0.0]])
    >>> chosen, _ = greedy(costs, np.ones(4), 5.0, 2)
    >>> chosen, swaps(costs, np.ones(4), 5.0, chosen)
    (array([0, 1]), array([2, 1]))
    """
    chosen = chosen.copy()
    emc = expected_min_cost(costs, weights, cap, chosen)
    while len(chosen):
        slot, option = best_exchange(costs, weights, cap, chosen)
        if option < 0:
            break
        before = chosen[slot]
        chosen[slot] = option
        lower = expected_min_cost(costs, weights, cap, chosen)
        if not lower < emc - LEAST_DECREASE * abs(emc):
            chosen[slot] = before
            break
        emc = lower
    return chosen


@compiled
def best_exchange(costs: Array, weights: Array, cap: float, chosen: Indices) -> tuple[int, int]:
    """The place in ``chosen`` (k,) and the other option whose exchange lowers the EMC most; the option is -1 if none.

    Where a sample's cheapest option leaves, the second cheapest or the newcomer serves it.
    """
    first, second, owner = two_least(costs, cap, chosen)
    taken = np.zeros(len(costs), np.bool_)
    taken[chosen] = True
    best, slot, newcomer = 0.0, 0, -1
    lost = np.empty(len(chosen))
    for option in range(len(costs)):
        if taken[option]:
            continue
        gain, lost[:] = 0.0, 0.0
        for i in range(len(weights)):
            cost = costs[option, i]
            if cost < first[i]:
                gain += weights[i] * (first[i] - cost)
            elif owner[i] >= 0:
                lost[owner[i]] += weights[i] * (min(cost, second[i]) - first[i])
        for place in range(len(chosen)):
            if gain - lost[place] > best:
                best, slot, newcomer = gain - lost[place], place, option
    return slot, newcomer


@compiled
def two_least(costs: Array, cap: float, chosen: Indices) -> tuple[Array, Array, Indices]:
    """The least and the second least cost of the ``chosen`` (k,) in each sample, at most ``cap``: (S,) each.

    Also the place in ``chosen`` of the option that costs least, (S,): the first of equals, -1 where the cap is less.
    """
    samples = costs.shape[1]
    first, second = np.full(samples, cap), np.full(samples, cap)
    owner = np.full(samples, -1)
    for place in range(len(chosen)):
        for i in range(samples):
            cost = costs[chosen[place], i]
            if cost < first[i]:
                first[i], second[i], owner[i] = cost, first[i], place
            elif cost < second[i]:
                second[i] = cost
    return first, second, owner
