"""The features of a person that a search moves, where more may move than it can combine."""

from __future__ import annotations

import numpy as np

from ..contract import Array, Indices
from .effects import log_odds
from .grid import Grid, StepLimits, moves_of_all
from .judge import Judge, pieces

MOST_MOVABLE = 128
"""Features of a person that a search moves at most."""
PROBES = 6
"""Most moves of each feature by which they are compared."""
FREE = 1e-9
"""Costs count as no less, where effects are compared by their cost."""


def most_promising(judge: Judge, grid: Grid, person: Array, limits: StepLimits) -> StepLimits:
    """The limits of a person (D,), (M,), of the features that may do most; all others stay where they are.

    A feature is moved alone, by a few sizes. It counts by the most that this adds to the log odds of the score, and of
    the wanted outcome where options are to help, and by the most that it adds for its cost. The first in any of these
    orders are kept. Where no more than ``MOST_MOVABLE`` features have room to move, all are.
    """
    is_open = limits.most > limits.fewest
    if is_open.sum() <= MOST_MOVABLE:
        return limits
    _, feature, steps = moves_of_all(StepLimits(limits.fewest[np.newaxis], limits.most[np.newaxis]), PROBES)
    effects = np.concatenate(
        [_effects(judge, grid, person, feature[piece], steps[piece]) for piece in pieces(len(feature), len(person))],
        axis=1,
    )
    best = np.full((len(effects), len(is_open)), -np.inf)
    for most, effect in zip(best, effects, strict=True):
        np.maximum.at(most, feature, effect)
    rank = np.argsort(np.argsort(-best, axis=1, kind="stable"), axis=1, kind="stable").min(axis=0)
    kept = np.argsort(np.where(is_open, rank, len(rank)), kind="stable")[:MOST_MOVABLE]
    return StepLimits(*(np.where(np.isin(np.arange(len(is_open)), kept), ends, 0) for ends in limits))


def _effects(judge: Judge, grid: Grid, person: Array, feature: Indices, steps: Indices) -> Array:
    """The gains of moves (R,) of single features, in all and for their cost, a row for each order: (2, R) or (4, R)."""
    people, owner = person[np.newaxis], np.zeros(len(feature), dtype=np.intp)
    rows = grid.moved_few(people, owner, feature[:, np.newaxis], steps[:, np.newaxis])
    cost = np.maximum(judge.objective.costs(rows, people, owner), FREE)
    added = [log_odds(judge.score(rows)) - log_odds(judge.score(people))]
    improvement = judge.objective.improvement
    if improvement is not None:
        added.append(improvement.log_odds(rows, people[owner]) - improvement.log_odds(people, people))
    return np.stack([effect for gain in added for effect in (gain, gain / cost)])
