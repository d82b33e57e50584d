"""Where more features may move than a search can combine, those are moved whose own moves do most."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.agents.candidates import Mutable, registry
from onward.agents.candidates.components.effects import log_odds
from onward.agents.candidates.components.grid import Grid, StepLimits
from onward.agents.candidates.components.judge import Judge
from onward.agents.candidates.components.most_promising import MOST_MOVABLE, most_promising
from onward.agents.costs import L1
from onward.agents.goals import ThresholdGoal
from onward.agents.improvement import Improvement
from onward.agents.objective import Objective
from onward.testing.spaces import scaled_space

Array = np.ndarray[Any, Any]
COLUMNS, STEP = 200, 0.25
ANY: list[Mutable] = ["any"]


class Stairs(Improvement):
    """Log odds that each column raises, by its own weight, for every step."""

    def __init__(self, weights: Array) -> None:
        self._weights = weights

    def log_odds(self, after: Array, before: Array) -> Array:
        return np.asarray((np.rint(after / STEP) * self._weights).sum(axis=1))


def judge_of(random: np.random.Generator, *, helps: bool) -> Judge:
    """Columns count above a half. Their weights are few, so that many moves do the same."""
    space = scaled_space(np.arange(COLUMNS), ANY * COLUMNS, np.full(COLUMNS, STEP), 2)
    weights, helping = random.integers(-2, 5, (2, COLUMNS)) / 4.0

    def score(rows: Array) -> Array:
        return np.asarray(1.0 / (1.0 + np.exp(3.0 - ((rows > 0.5) * weights).sum(axis=1) / 8.0)))

    return Judge(space, Objective(L1(), 0.5, Stairs(helping) if helps else None), score, ThresholdGoal(0.5))


def best_effects(judge: Judge, person: Array, feature: int) -> list[float]:
    """The most that a value of a feature adds to the log odds, in all and for its cost."""
    values = np.setdiff1d(np.arange(0.0, 1.0 + STEP, STEP), person[feature])
    rows = np.repeat(person[np.newaxis], len(values), axis=0)
    rows[:, feature] = values
    cost = np.abs(values - person[feature])
    added = [log_odds(judge.score(rows)) - log_odds(judge.score(person[np.newaxis]))]
    if (improvement := judge.objective.improvement) is not None:
        added.append(improvement.log_odds(rows, rows) - improvement.log_odds(person[np.newaxis], rows[:1]))
    return [float(each.max()) for own in added for each in (own, own / cost)]


@pytest.mark.parametrize("helps", [False, True])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32), closed=st.integers(0, COLUMNS - MOST_MOVABLE))
def test_the_first_by_any_effect_are_moved_and_of_equal_ones_the_first(helps: bool, seed: int, closed: int) -> None:
    random = np.random.default_rng(seed)
    judge, person = judge_of(random, helps=helps), np.array(random.integers(0, 5, COLUMNS) * STEP, dtype=np.float64)
    grid = Grid(judge.space, rounded=True)
    limits = StepLimits(*(each.copy() for each in grid.limits(person)))
    is_open = np.isin(np.arange(COLUMNS), random.choice(COLUMNS, COLUMNS - closed, replace=False))
    for each in limits:
        each[~is_open] = 0
    effects = {feature: best_effects(judge, person, feature) for feature in np.flatnonzero(is_open).tolist()}
    best = dict.fromkeys(effects, COLUMNS)
    for order in range(4 if helps else 2):
        for place, feature in enumerate(sorted(effects, key=lambda each: (-effects[each][order], each))):
            best[feature] = min(best[feature], place)
    kept = sorted(best, key=lambda each: (best[each], each))[:MOST_MOVABLE]
    found = most_promising(judge, grid, person, limits)
    assert np.flatnonzero(found.most > found.fewest).tolist() == sorted(kept)
    assert found.fewest[kept].tolist() == limits.fewest[kept].tolist()
    assert found.most[kept].tolist() == limits.most[kept].tolist()


WIDE = 140
"""Columns, all of which may change: more than are combined."""
WEIGHTS = np.random.default_rng(0).integers(0, 5, (2, WIDE)) / 4.0


def _wide_score(rows: Array) -> Array:
    """Columns count above a half, many of them by as much as others."""
    return np.asarray(1.0 / (1.0 + np.exp(WIDE / 6.0 - ((rows > 0.5) * WEIGHTS[0]).sum(axis=1))))


class Wide(Improvement):
    """Log odds that columns raise by half steps, by other weights than the score."""

    def log_odds(self, after: Array, before: Array) -> Array:
        return np.asarray((np.rint(2.0 * after) * WEIGHTS[1]).sum(axis=1) / 2.0 - WIDE / 5.0)


def _of_wide_people(helps: Improvement | None, order: Array, cut: int) -> list[list[bytes]]:
    """The targets of each of 34 people, from blocks of them in an order."""
    rows = np.random.default_rng(2).integers(0, 3, (1000, WIDE)) / 2.0
    score = _wide_score(rows)
    people = rows[(score > 0.1) & (score <= 0.5)][: len(order)]
    space = scaled_space(np.arange(WIDE), ANY * WIDE, np.full(WIDE, 0.5), 2)
    built = registry["search"].build(space, people[:0], Objective(L1(), 0.1, helps))
    generator, told = built.under(_wide_score, ThresholdGoal(0.5)), [list[bytes]() for _ in people]
    for start in range(0, len(order), cut):
        own = order[start : start + cut]
        proposals = generator.propose(people[own])
        for number, row in zip(own[proposals.people].tolist(), proposals.targets, strict=True):
            told[number].append(row.tobytes())
    return told


@cache
def _wide_alone(helps: Improvement | None) -> list[list[bytes]]:
    return _of_wide_people(helps, np.arange(34), 1)


@pytest.mark.parametrize("helps", [None, Wide()])
@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 2**32), cut=st.sampled_from([2, 33, 34]))
def test_each_moves_those_of_many_features_that_do_most_for_them(
    helps: Improvement | None, seed: int, cut: int
) -> None:
    told = _of_wide_people(helps, np.random.default_rng(seed).permutation(34), cut)
    assert told == _wide_alone(helps)
    assert sum(map(bool, told)) > 17
