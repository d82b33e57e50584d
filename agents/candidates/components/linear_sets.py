"""Near-cheapest changes of each set of features under a linear score and the l1 cost, in closed form.

The changes of a single feature are the cheapest that there are.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ...rounding import ROUNDING
from ...sigmoid import scalar_logit
from ..contract import Array, Indices, LinearScore, Mask
from .grid import Grid, Layout, Steps

MOST_FEATURES = 12
"""Features that are combined; of more, those that can add most to the score."""
LARGEST_SET = 4
"""Sets of more features are tried only for people whom no smaller one serves."""
ENOUGH = 3
"""Sets of more than two features are tried for people with fewer options."""
MOST_OPTIONS = 32
"""Most options of one person that are kept."""
CATEGORY_COST = 2.0
"""The l1 cost of another category: one column is left, and one is entered."""


class Solutions(NamedTuple):
    """P options of n people, by person: ``people`` (P,), ``steps`` (P, M) and ``targets`` (P, D).

    ``best`` (n, M) are the steps to the highest score within each person's reach, ``accepted`` (n,) says who has enough
    already: they are given no options here.
    """

    people: Indices
    steps: Steps
    targets: Array
    best: Steps
    accepted: Mask


class Moves(NamedTuple):
    """The best step of each feature for one person, (M,) each.

    ``gain`` is in log odds, ``cost`` in the l1 cost. ``most`` are the most steps, 0 where none helps. ``step`` is
    the step itself: up (1), down (-1), or a number of categories further.
    """

    gain: Array
    cost: Array
    most: NDArray[np.int64]
    step: NDArray[np.int64]


class LinearSets:
    """Finds the cheapest option of each set of features. Cross-feature constraints are not looked at.

    A step of a feature has a gain in log odds and a cost. So the cheapest changes of a set fill its features in the
    order of cost for gain, a fractional knapsack whose one dual variable is the ratio of the last feature in use.
    Only whole steps count, so one feature is rounded up, the one for which that costs least. Then surplus steps are
    removed, from the most expensive feature on. A set that costs no less than a part of it is left out.

    Parameters
    ----------
    grid
        The steps of the features, and how far each may go.
    score
        A linear score.
    required
        The score that must be exceeded, in (0, 1).
    most_changes
        The most features that may change.
    """

    def __init__(self, grid: Grid, score: LinearScore, required: float, most_changes: int) -> None:
        self._grid = grid
        self._weights = np.ascontiguousarray(score.weights)
        self._bias, self._required = float(score.bias), scalar_logit(required)
        self._most_changes = most_changes
        self._masks = _masks(min(most_changes, LARGEST_SET))

    def solve(self, people: Array, slopes: Array | None = None, less: Array | None = None) -> Solutions:
        """The options of encoded people, shape (n, D).

        Each may have a score of their own around where they are: ``slopes`` (n, D) are taken off its weights, and
        ``less`` (n,) are the log odds that it lacks there.
        """
        count, movable = len(people), len(self._grid.features)
        steps = np.zeros((count, MOST_OPTIONS, movable), dtype=np.int64)
        counts, best = np.zeros(count, dtype=np.int64), np.zeros((count, movable), dtype=np.int64)
        model = self._models(people, slopes, np.zeros(count) if less is None else less)
        rules = *self._grid.limits(people), self._most_changes
        layout = self._grid.layout
        solve_people(np.ascontiguousarray(people), layout, rules, model, self._masks, (steps, counts, best))
        accepted = counts < 0
        counts[accepted] = 0
        kept = steps[np.arange(MOST_OPTIONS) < counts[:, np.newaxis]]
        owner = np.repeat(np.arange(count), counts)
        return Solutions(owner, kept, self._grid.moved(people[owner], kept), best, accepted)

    def _models(self, people: Array, slopes: Array | None, less: Array) -> tuple[Array, Array, float]:
        """Everybody's weights (n, D) or (1, D), biases (n,), and the log odds that must be exceeded."""
        if slopes is None:
            return self._weights[np.newaxis], self._bias - less, self._required
        weights = np.ascontiguousarray(self._weights - slopes)
        return weights, self._bias - less + (slopes * people).sum(axis=1), self._required

    def excess(self, rows: Array) -> Array:
        """By how much the log odds of encoded rows (n, D) exceed the required ones, (n,)."""
        # A product of matrices would depend on the other rows.
        return np.asarray((rows * self._weights).sum(axis=1) + self._bias - self._required)

    def tightened(self, people: Array, slopes: Array, solutions: Solutions, excess: Array) -> Solutions:
        """The options without the surplus: log odds ``excess`` (P,) beyond what each needs.

        ``slopes`` (n, D) are those of ``solve``.

        The dearest changes are reduced first, and none to nothing.
        """
        steps = np.abs(solutions.steps)
        owners, weights = np.ascontiguousarray(people[solutions.people]), self._weights - slopes[solutions.people]
        fewest, most = self._grid.limits(owners)
        rules = self._grid.layout, (fewest, most), np.ascontiguousarray(weights)
        give_back(owners, rules, np.ascontiguousarray(excess), steps)
        steps = np.sign(solutions.steps) * steps
        return solutions._replace(steps=steps, targets=self._grid.moved(owners, steps))


@cache
def _masks(largest: int) -> NDArray[np.int64]:
    """The sets of 2 to ``largest`` of the combined features, as bits, the smaller sets first."""
    sizes = range(2, largest + 1)
    sets = [sum(1 << bit for bit in bits) for size in sizes for bits in combinations(range(MOST_FEATURES), size)]
    return np.array(sets, dtype=np.int64)


@compiled
def solve_people(
    people: Array,
    layout: Layout,
    rules: tuple[Steps, Steps, int],
    model: tuple[Array, Array, float],
    masks: NDArray[np.int64],
    out: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
) -> None:
    """Write each person's options to ``out``: steps (n, O, M), their number, -1 for who needs none, and the best steps.

    ``rules`` are the fewest and most steps (n, M), and how many features may change. ``model`` has the weights (n, D),
    or (1, D) for all, the biases (n,) and the log odds that must be exceeded.
    """
    fewest_steps, most_steps, most_changes = rules
    weights, bias, required = model
    steps, counts, best = out
    movable = best.shape[1]
    cheapest = np.empty(1 << MOST_FEATURES)
    for i in range(len(people)):
        odds, row_weights = bias[i], weights[min(i, len(weights) - 1)]
        for d in range(len(row_weights)):
            odds += people[i, d] * row_weights[d]
        moves = best_moves(people[i], layout, (fewest_steps[i], most_steps[i]), row_weights)
        by_gain = np.argsort(-moves.gain * moves.most)
        for m in by_gain[:most_changes]:
            best[i, m] = moves.most[m] * moves.step[m]
        missing = required - odds
        if missing < 0.0:
            counts[i] = -1
            continue
        counts[i] = fill_sets(missing, by_gain, moves, masks, cheapest, steps[i])
        if counts[i] == 0:
            counts[i] = fill_large_set(missing, by_gain[:most_changes], moves, steps[i])
        for option in range(counts[i]):
            for m in range(movable):
                steps[i, option, m] *= moves.step[m]


@compiled
def give_back(
    people: Array, rules: tuple[Layout, tuple[Steps, Steps], Array], excess: Array, steps: NDArray[np.int64]
) -> None:
    """Remove the surplus from the steps (P, M) of options, from the most expensive feature on.

    ``people`` are (P, D). ``rules`` are the layout, the fewest and most steps (P, M), and the weights (P, D).
    """
    layout, (fewest_steps, most_steps), weights = rules
    _, categories, _, _, _, _ = layout
    for i in range(len(people)):
        moves = best_moves(people[i], layout, (fewest_steps[i], most_steps[i]), weights[i])
        rest = excess[i]
        for m in np.argsort(-moves.cost / gain_or_one(moves.gain)):
            if steps[i, m] > 1 and categories[m] == 0:
                back = min(steps[i, m] - 1, math.ceil(rest / moves.gain[m] - ROUNDING) - 1)
                if back > 0:
                    steps[i, m] -= back
                    rest -= back * moves.gain[m]


@compiled
def best_moves(person: Array, layout: Layout, limits: tuple[Steps, Steps], weights: Array) -> Moves:
    """The moves of one person; ``limits`` are the fewest and the most steps of their features, (M,) each."""
    first, categories, size, _, _, scale = layout
    fewest_steps, most_steps = limits
    movable = len(first)
    gain, cost = np.zeros(movable), np.ones(movable)
    most, step = np.zeros(movable, dtype=np.int64), np.ones(movable, dtype=np.int64)
    for m in range(movable):
        column = first[m]
        if categories[m] > 0:
            current = 0
            for category in range(categories[m]):
                if person[column + category] > person[column + current]:
                    current = category
            for shift in range(1, categories[m]):
                more = weights[column + (current + shift) % categories[m]] - weights[column + current]
                if more > gain[m]:
                    gain[m], cost[m], most[m], step[m] = more, CATEGORY_COST, 1, shift
            continue
        a_step = weights[column] * size[m] / scale[m]
        room = most_steps[m] if a_step > 0 else -fewest_steps[m]
        if room > 0 and a_step != 0.0:
            gain[m], cost[m], step[m] = abs(a_step), size[m] / scale[m], 1 if a_step > 0 else -1
            most[m] = room
    return Moves(gain, cost, most, step)


@compiled
def fill_sets(
    missing: float,
    by_gain: Indices,
    moves: Moves,
    masks: NDArray[np.int64],
    cheapest: Array,
    steps: NDArray[np.int64],
) -> int:
    """Write the options of single features, then of combinations, to ``steps`` (O, M); return their number.

    ``by_gain`` are the features by what they can add, the most first. ``cheapest`` takes the least cost of each set of
    combined features and of its parts, by the set's bits.
    """
    options = fill_singles(missing, moves, steps)
    combined = by_gain[:MOST_FEATURES]
    combined = combined[moves.most[combined] > 0]
    combined = combined[np.argsort(moves.cost[combined] / moves.gain[combined])]
    cheapest[: 1 << len(combined)] = math.inf
    for bit in range(len(combined)):
        m = combined[bit]
        for option in range(options):
            if steps[option, m] > 0:
                cheapest[1 << bit] = steps[option, m] * moves.cost[m]
    members = np.empty(LARGEST_SET, dtype=np.intp)
    options_up_to_pairs = options
    for mask in masks:
        if mask >> len(combined):
            continue
        size, cheapest_part = 0, math.inf
        for bit in range(len(combined)):
            if mask >> bit & 1:
                members[size] = combined[bit]
                size += 1
                cheapest_part = min(cheapest_part, cheapest[mask ^ (1 << bit)])
        if size > 2 and options_up_to_pairs >= ENOUGH:
            break
        set_cost = math.inf
        if options < len(steps):
            set_cost = fill(missing, members[:size], moves, steps[options])
        if set_cost < cheapest_part:
            options += 1
        elif set_cost < math.inf:
            steps[options, :] = 0
        cheapest[mask] = min(cheapest_part, set_cost)
        if size == 2:
            options_up_to_pairs = options
    return options


@compiled
def fill_singles(missing: float, moves: Moves, steps: NDArray[np.int64]) -> int:
    """Write the option of each feature that reaches the goal alone to ``steps`` (O, M); return their number."""
    options = 0
    for m in range(len(moves.gain)):
        if moves.gain[m] * moves.most[m] > missing and options < len(steps):
            needed = math.floor(missing / moves.gain[m] + ROUNDING) + 1
            if needed <= moves.most[m]:
                steps[options, m] = needed
                options += 1
    return options


@compiled
def fill_large_set(missing: float, by_gain: Indices, moves: Moves, steps: NDArray[np.int64]) -> int:
    """Write the option of the fewest features that reach the goal together, where it takes many; return the number."""
    for size in range(1, len(by_gain) + 1):
        members = by_gain[:size]
        members = members[np.argsort(moves.cost[members] / gain_or_one(moves.gain[members]))]
        if fill(missing, members, moves, steps[0]) < math.inf:
            return 1
    return 0


@compiled
def gain_or_one(gain: Array) -> Array:
    """The gains, 1 where there is none."""
    return np.where(gain > 0, gain, 1.0)


@compiled
def fill(missing: float, members: Indices, moves: Moves, steps: NDArray[np.int64]) -> float:
    """Write the cheapest steps of a set to ``steps`` (M,), and return their cost, or infinity.

    The ``members`` are ordered by cost for gain.
    """
    gain, cost, most, _ = moves
    reach = 0.0
    for m in members:
        if most[m] == 0:
            return math.inf
        reach += gain[m] * most[m]
    if reach <= missing:
        return math.inf
    rest = missing
    for m in members:
        steps[m] = 1
        rest -= gain[m]
    if rest >= 0:
        rest = fill_up(rest, members, moves, steps)
    total = 0.0
    for place in range(len(members) - 1, -1, -1):
        m = members[place]
        back = min(steps[m] - 1, math.ceil(-rest / gain[m] - ROUNDING) - 1)
        if back > 0:
            steps[m] -= back
            rest += back * gain[m]
        total += steps[m] * cost[m]
    if rest >= 0:
        steps[members] = 0
        return math.inf
    return total


@compiled
def fill_up(rest: float, members: Indices, moves: Moves, steps: NDArray[np.int64]) -> float:
    """Add steps that are worth ``rest`` log odds to ``steps`` (M,); return what is still missing, below 0 if nothing.

    The members are filled in their order, as far as they do not overshoot. One of them takes one step more; those
    behind it need none then. A small step of a dearer feature may cost less than a large one of a cheaper one.
    """
    gain, cost, most, _ = moves
    before, spent, best, last = rest, 0.0, math.inf, -1
    for place in range(len(members)):
        m = members[place]
        more = min(most[m] - 1, math.floor(rest / gain[m] + ROUNDING))
        spent += more * cost[m]
        rest -= more * gain[m]
        if more < most[m] - 1 and spent + cost[m] < best:
            best, last = spent + cost[m], place
    rest = before
    for place in range(last + 1):
        m = members[place]
        more = min(most[m] - 1, math.floor(rest / gain[m] + ROUNDING))
        if place == last:
            more += 1
        steps[m] += more
        rest -= more * gain[m]
    return rest
