"""The combinations of changes that promise most, by the effects of single changes, compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...compiled import compiled
from ...rounding import ROUNDING
from ..contract import Array, Indices
from .grid import Steps

SHORT = 1.0
"""By how much the logarithm of the chance counts less where the model is predicted to reject the combination."""
EXTENDED = 40
"""Most combinations of one size that are measured."""
FARTHEST = 12
"""Most combinations that are measured because their scores promise to be high."""
PER_SET = 3
"""Combinations of one set of features that are compared at least."""
WORST = 30.0
"""Log odds below which a chance is its odds."""


class ChangeEffects(NamedTuple):
    """The changes of R targets, ``feature`` and ``steps`` (R, K), and their effects (R,): the log odds that they help,
    their costs, and the log odds of their scores."""

    feature: Indices
    steps: Steps
    helps: Array
    cost: Array
    odds: Array


class Sum(NamedTuple):
    """What effects add up to: the log odds of being helped, and those of the score, of who changes nothing.

    The score must reach ``need``. ``nu`` is that of the cost, ``most`` how many combinations are kept of one base and
    feature.
    """

    helps: float
    odds: float
    nu: float
    need: float
    most: int


class Best(NamedTuple):
    """The best combinations so far, in order: their values, the sets that they are of, and their numbers."""

    worth: Array
    place: Indices
    code: Indices


@compiled
def promising(
    base: ChangeEffects,
    bases: Indices,
    move: ChangeEffects,
    moves: Indices,
    unchanged: tuple[Array, Array],
    nu: float,
    need: float,
    features: int,
) -> tuple[Indices, Steps, Indices]:
    """The combinations of a base and a move of each person that promise most, and those of the highest scores.

    Those of person i begin at ``bases[i]`` and ``moves[i]`` (n + 1,). ``unchanged`` are the people's log odds of being
    helped, and of the scores (n,), which must reach ``need``. Scores of models with steps are more than the sum of what
    single moves do: where no predicted combination is accepted, the farthest may be. Returned are the features and
    steps (C, K) of the combinations, and where those of each person begin.
    """
    room, width = (len(bases) - 1) * (EXTENDED + FARTHEST), base.feature.shape[1]
    feature, steps = np.empty((room, width), np.intp), np.empty((room, width), np.int64)
    starts, at = np.zeros(len(bases), np.intp), 0
    most = max(PER_SET, EXTENDED // max(1, features * (features - 1) // 2))
    base_score = ChangeEffects(base.feature, base.steps, base.odds, np.zeros_like(base.cost), base.odds)
    move_score = ChangeEffects(move.feature, move.steps, move.odds, np.zeros_like(move.cost), move.odds)
    for i in range(len(bases) - 1):
        pairs = bases[i], bases[i + 1], moves[i], moves[i + 1]
        count = pairs[3] - pairs[2]
        best = combined(base, move, pairs, Sum(unchanged[0][i], unchanged[1][i], nu, need, most), features, EXTENDED)
        highest = Sum(unchanged[1][i], unchanged[1][i], 0.0, -math.inf, PER_SET)
        far = combined(base_score, move_score, pairs, highest, features, FARTHEST)
        for code in np.concatenate((best, far)):
            _join(base, pairs[0] + code // count, move, pairs[2] + code % count, feature[at], steps[at])
            at += 1
        starts[i + 1] = at
    return feature[:at], steps[:at], starts


@compiled
def combined(
    base: ChangeEffects, move: ChangeEffects, pairs: tuple[int, int, int, int], total: Sum, features: int, count: int
) -> Indices:
    """The numbers of the best combinations of a base with a move of another feature, at most ``count``, best first.

    ``pairs`` are where the bases and the moves begin and end: the r-th of R moves on the b-th base has the number
    b R + r. Effects add up. The value is the logarithm of exp(-nu cost) p. Of bases that change one feature, only later
    ones are added.
    """
    a, b, c, d = pairs
    best = Best(np.full(count, -math.inf), np.zeros(count, np.intp), np.zeros(count, np.intp))
    home, held = np.full(features, -1, np.intp), 0
    for one in range(a, b):
        changed, last = 0, -1
        for m in base.feature[one]:
            if m >= 0:
                changed, last = changed + 1, m
        set_of = one - a
        if changed == 1:
            # Bases of the same single feature compete for the places of the first of them.
            home[last] = set_of if home[last] < 0 else home[last]
            set_of = home[last]
        for other in range(c, d):
            m = move.feature[other, 0]
            if changed == 1 and m < last:
                continue
            helps = base.helps[one] + move.helps[other] - total.helps
            cost = total.nu * (base.cost[one] + move.cost[other])
            short = SHORT if base.odds[one] + move.odds[other] - total.odds < total.need else 0.0
            # No chance is more than 1, nor than its odds.
            if held == count and min(helps, 0.0) - cost - short + ROUNDING < best.worth[count - 1]:
                continue
            if _changes(base.feature[one], m):
                continue
            worth = -math.log1p(math.exp(-helps)) if helps > -WORST else helps
            code = (one - a) * (d - c) + other - c
            held = _keep(best, held, total.most, worth - cost - short, set_of * features + m, code)
    return best.code[:held]


@compiled
def _keep(best: Best, held: int, most: int, worth: float, place: int, code: int) -> int:
    """Put a combination among the best, of one place at most so many; return how many are held then.

    Of equal ones the first place counts, and at one place the one that came first.
    """
    same, last = 0, 0
    for k in range(held):
        if best.place[k] == place:
            same, last = same + 1, k
    at = held
    if same == most:
        at = last
    elif held == len(best.worth):
        at = held - 1
    behind = at < held and (worth < best.worth[at] or (worth == best.worth[at] and place >= best.place[at]))
    if behind or not worth > -math.inf:
        return held
    held = max(held, at + 1)
    while at > 0 and (best.worth[at - 1] < worth or (best.worth[at - 1] == worth and best.place[at - 1] > place)):
        best.worth[at], best.place[at], best.code[at] = best.worth[at - 1], best.place[at - 1], best.code[at - 1]
        at -= 1
    best.worth[at], best.place[at], best.code[at] = worth, place, code
    return held


@compiled
def _changes(features: Indices, feature: int) -> bool:
    """Whether a feature is among these."""
    for m in features:  # noqa: SIM110 (numba compiles no generator)
        if m == feature:
            return True
    return False


@compiled
def _join(base: ChangeEffects, one: int, move: ChangeEffects, other: int, feature: Indices, steps: Steps) -> None:
    """Write a base and a single move of another feature to ``feature`` and ``steps`` (K,), in the features' order."""
    at, moved = 0, move.feature[other, 0]
    for k in range(len(feature)):
        if at == k and (base.feature[one, k] < 0 or base.feature[one, k] > moved):
            feature[k], steps[k] = moved, move.steps[other, 0]
        else:
            feature[k], steps[k] = base.feature[one, at], base.steps[one, at]
            at += 1
