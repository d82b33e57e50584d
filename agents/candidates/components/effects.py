"""The effects of single moves, and the combinations of moves that they promise."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from ...compiled import compiled
from ...sigmoid import logit
from ..contract import Array, Indices
from .grid import Steps

MOVES_BY_SIZE = {2: 24, 3: 8, 4: 5}
"""Most moves of each feature that are combined, by the size of the set. Larger sets are left to the beam search."""
MOST_SETS = 5000
"""Sets of one size that are compared: of many features only the most promising are combined."""
SETS = 60
"""Most sets of one size whose combinations are scored."""
SLACKS = (0.0, 0.3, 0.8)
"""How far beyond the goal a combination must be predicted, as shares of what is missing: predictions err.

A negative one would try combinations that do more together than their effects add up to. One of -0.3 found no option
more in the 42 specs of the loan population and of Credit (``make bench-options``), left their costs as they are, and
took up to a quarter more time.
"""
SMALLEST_SCORE = 1e-6
"""Scores count as no closer to 0 and 1, where log odds have no end."""


class SingleMoveEffects(NamedTuple):
    """Single moves of M features, at most G of each: steps, predicted gain in log odds, and cost, (M, G).

    Places without a move have a gain of minus infinity. ``missing`` are the log odds from the person to the goal.
    """

    steps: Steps
    gain: Array
    cost: Array
    missing: float

    @classmethod
    def from_moves(
        cls, moves: Steps, score: Array, cost: Array, person_score: float, required: float
    ) -> SingleMoveEffects:
        """The effects of single moves, (R, M) by feature, with their scores and costs (R,)."""
        feature = (moves != 0).argmax(axis=1)
        counts = np.bincount(feature, minlength=moves.shape[1])
        place = np.arange(len(feature)) - np.repeat(np.cumsum(counts) - counts, counts)
        shape = (len(counts), int(counts.max()))
        has, needs = log_odds(np.array([person_score, required])).tolist()
        effects = cls(np.zeros(shape, dtype=np.int64), np.full(shape, -np.inf), np.full(shape, np.inf), needs - has)
        effects.steps[feature, place] = moves[np.arange(len(feature)), feature]
        effects.gain[feature, place] = log_odds(score) - has
        effects.cost[feature, place] = cost
        return effects

    def combined(self, size: int) -> Steps:
        """The most promising combinations of every set of this size, (R, M), some of them more than once."""
        few, sets = self._thinned(MOVES_BY_SIZE[size]), self._promising_sets(size)
        if not len(sets):
            return np.zeros((0, len(self.steps)), dtype=np.int64)
        needed = self.missing + np.array(SLACKS) * abs(self.missing)
        gain, cost = np.ascontiguousarray(few.gain), np.ascontiguousarray(few.cost)
        chosen = cheapest_of_sets(gain, cost, sets, needed).ravel()
        moves = np.array(np.unravel_index(chosen, (few.steps.shape[1],) * size)).T
        sets = np.tile(sets, (len(SLACKS), 1))
        steps = np.zeros((len(sets), len(self.steps)), dtype=np.int64)
        steps[np.arange(len(sets))[:, np.newaxis], sets] = few.steps[sets, moves]
        return steps

    def _promising_sets(self, size: int) -> Indices:
        """The sets of features, (S, size), whose largest gains add up to the most."""
        largest = self.gain.max(axis=1)
        promising = np.argsort(-largest, kind="stable")
        while comb(len(promising), size) > MOST_SETS:
            promising = promising[:-1]
        sets = np.sort(promising)[_sets(len(promising), size)]
        sets = sets[np.argsort(-largest[sets].sum(axis=1), kind="stable")[:SETS]]
        return np.asarray(sets[np.isfinite(largest[sets]).all(axis=1)])

    def _thinned(self, most: int) -> SingleMoveEffects:
        """At most ``most`` moves of each feature, from the smallest to the largest."""
        counts = np.isfinite(self.gain).sum(axis=1)
        places = np.rint(np.linspace(0, np.maximum(counts - 1, 0), min(most, self.gain.shape[1]))).astype(np.intp).T
        feature = np.arange(len(places))[:, np.newaxis]
        return SingleMoveEffects(
            self.steps[feature, places], self.gain[feature, places], self.cost[feature, places], self.missing
        )


@compiled
def cheapest_of_sets(gain: Array, cost: Array, sets: Indices, needed: Array) -> Indices:
    """The cheapest combination of moves of each set that gains enough; where none does the one that gains most, (N, S).

    Gains and costs (M, G) of single moves add up; ``sets`` (S, K) are the features of each, and ``needed`` (N,),
    which ascend, say how much is enough. Combinations have numbers: the move of the last feature changes first. Of
    equal ones the first counts.
    """
    moves, last = gain.shape[1], sets.shape[1] - 1
    chosen, least = np.empty((len(needed), len(sets)), np.intp), np.empty(len(needed))
    for s in range(len(sets)):
        chosen[:, s], least[:] = -1, np.inf
        gains, prices = gain[sets[s, last]], cost[sets[s, last]]
        highest, farthest = -np.inf, 0
        for code in range(moves**last):
            left, unit, base, price = code, moves ** max(last - 1, 0), 0.0, 0.0
            for k in range(last):
                move = left // unit
                left, unit = left - move * unit, max(unit // moves, 1)
                base, price = base + gain[sets[s, k], move], price + cost[sets[s, k], move]
            for move in range(moves):
                gained, total = base + gains[move], price + prices[move]
                # A gain that is not known counts as the highest.
                if gained > highest or (np.isnan(gained) and not np.isnan(highest)):
                    highest, farthest = gained, code * moves + move
                for n in range(len(needed)):
                    if not gained >= needed[n]:
                        break
                    if total < least[n]:
                        least[n], chosen[n, s] = total, code * moves + move
        for n in range(len(needed)):
            if chosen[n, s] < 0:
                chosen[n, s] = farthest
    return chosen


@lru_cache
def _sets(features: int, size: int) -> Indices:
    """Every set of ``size`` of ``features`` features, (S, size)."""
    return np.array(list(combinations(range(features), size)), dtype=np.intp).reshape(-1, size)


def log_odds(score: Array) -> Array:
    """The log odds of scores of any shape."""
    return logit(score, SMALLEST_SCORE)
