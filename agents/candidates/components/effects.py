"""The effects of single moves, and the combinations of moves that they promise."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

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
    def of(cls, moves: Steps, score: Array, cost: Array, person_score: float, required: float) -> SingleMoveEffects:
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
        gain, cost = few._summed(sets)
        chosen = []
        for slack in SLACKS:
            enough = np.where(gain >= self.missing + slack * abs(self.missing), cost, np.inf)
            best = enough.argmin(axis=1)
            none = ~np.isfinite(enough.min(axis=1, initial=np.inf))
            best[none] = gain[none].argmax(axis=1)
            chosen.append(best)
        moves = np.array(np.unravel_index(np.concatenate(chosen), (few.steps.shape[1],) * size)).T
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

    def _summed(self, sets: Indices) -> tuple[Array, Array]:
        """Gain and cost of every combination of moves of each set, (S, G ** size)."""
        gain, cost = self.gain[sets[:, 0]], self.cost[sets[:, 0]]
        for feature in sets.T[1:]:
            gain = (gain[:, :, np.newaxis] + self.gain[feature, np.newaxis]).reshape(len(sets), -1)
            cost = (cost[:, :, np.newaxis] + self.cost[feature, np.newaxis]).reshape(len(sets), -1)
        return gain, cost

    def _thinned(self, most: int) -> SingleMoveEffects:
        """At most ``most`` moves of each feature, from the smallest to the largest."""
        counts = np.isfinite(self.gain).sum(axis=1)
        places = np.rint(np.linspace(0, np.maximum(counts - 1, 0), min(most, self.gain.shape[1]))).astype(np.intp).T
        feature = np.arange(len(places))[:, np.newaxis]
        return SingleMoveEffects(
            self.steps[feature, places], self.gain[feature, places], self.cost[feature, places], self.missing
        )


@lru_cache
def _sets(features: int, size: int) -> Indices:
    """Every set of ``size`` of ``features`` features, (S, size)."""
    return np.array(list(combinations(range(features), size)), dtype=np.intp).reshape(-1, size)


def log_odds(score: Array) -> Array:
    """The log odds of scores of any shape."""
    return logit(score, SMALLEST_SCORE)
