"""The grid of one person: every change is a whole number of steps from the person's own value, or to a round number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ...rounding import ROUNDING
from ..contract import Array, Indices, Mask, Space

Layout = tuple[Indices, Indices, Array, Array, Array, Array]
"""For each movable feature its first column, its number of categories (0 for a number), its step, the units in 1 to
which raw values are rounded, and the low and scale of its column: (M,) each."""

Steps = NDArray[np.int64]
"""Numbers of steps, (R, M) for R targets and M movable features. 0 leaves a feature as it is."""

STEPS_IN_A_RANGE, ROUND_STEPS_IN_A_RANGE = 1000, 100
"""About this number of steps a continuous feature has in its range, where the spec gives no step.

The second is that of round numbers, also of whole numbers.
"""


class StepLimits(NamedTuple):
    """The fewest and the most steps of each movable feature, (M,) or those of n people, (n, M).

    The fewest are 0 or negative, the most 0 or positive.
    """

    fewest: Steps
    most: Steps


class Grid:
    """The targets that people may become, by the rules of single features.

    A number or a level moves up and down by whole steps within its bounds, in the directions that are allowed, and by
    no more than the largest change. For a one-hot feature of C categories, k steps lead to the k-th category after the
    person's own, up to C - 1.

    On a ``rounded`` grid numbers become multiples of the step, of which no change is smaller: one step of 50 up from
    1,020 leads to 1,100. A feature without a step has one of a round number.

    ``features`` (M,) are the features that may change, ``layout`` describes their columns. ``is_number`` (M,) tells
    numbers and levels from one-hot features.
    """

    def __init__(self, space: Space, *, rounded: bool = False) -> None:
        self._space, self._rounded = space, rounded
        self._unit = 10.0 ** np.maximum(space.digits, 0)
        counts = np.bincount(space.feature_of, minlength=len(space.mutable))
        self._first: Indices = np.cumsum(counts) - counts
        self.features = [feature for feature, mutable in enumerate(space.mutable) if mutable != "none"]
        self._categories = [int(counts[feature]) if counts[feature] > 1 else 0 for feature in self.features]
        step = _round_step if rounded else _step
        self._step = [step(space, feature, self._first.item(feature)) for feature in self.features]
        columns = self._first[self.features]
        self.layout = (
            columns,
            np.array(self._categories, dtype=np.intp),
            np.array(self._step, dtype=np.float64),
            self._unit[self.features],
            space.low[columns],
            space.scale[columns],
        )
        mutable = np.array([space.mutable[feature] for feature in self.features], dtype=str)
        self.is_number: Mask = np.array(self._categories, dtype=np.intp) == 0
        self._ranges = space.ranges.subset(self.features)
        self._goes_down, self._goes_up = self.is_number & (mutable != "up"), self.is_number & (mutable != "down")
        self._movable_columns = np.flatnonzero(np.isin(space.feature_of, self.features))
        self._movable_starts: Indices = np.searchsorted(self._movable_columns, columns)

    def columns(self, index: int) -> slice:
        """The encoded columns of a movable feature."""
        first = self._first.item(self.features[index])
        return slice(first, first + max(1, self._categories[index]))

    def limits(self, people: Array) -> StepLimits:
        """The fewest and most steps of people: (M,) for a person of shape (D,), (n, M) for people of shape (n, D).

        In C order whatever that of the people is: a loop is compiled again for each order.
        """
        _, categories, step, _, _, _ = self.layout
        raw = self.raw(people)
        down, up = self._ranges.room(raw)
        if self._rounded:
            down = (np.floor(raw / step + ROUNDING) - np.ceil((raw - down) / step - ROUNDING)).clip(min=0.0)
            up = (np.floor((raw + up) / step + ROUNDING) - np.ceil(raw / step - ROUNDING)).clip(min=0.0)
        else:
            down, up = np.floor(down / step + ROUNDING), np.floor(up / step + ROUNDING)
        fewest = np.where(self._goes_down, -down, 0).astype(np.int64, order="C")
        most = np.where(categories > 0, categories - 1, np.where(self._goes_up, up, 0)).astype(np.int64, order="C")
        return StepLimits(fewest, most)

    def toward(self, person: Array, rows: Array) -> Steps:
        """The steps, (R, M), that lead a person (D,) as near to each of the rows (R, D) as the rules allow."""
        limits = self.limits(person)
        own, there, step = self.raw(person), self.raw(rows), self.layout[2]
        if self._rounded:
            own = step * np.where(there > own, np.ceil(own / step - ROUNDING), np.floor(own / step + ROUNDING))
        near = np.rint((there - own) / step).astype(np.int64)
        steps: Steps = near.clip(limits.fewest, limits.most)
        for index, count in enumerate(self._categories):
            if count:
                columns = self.columns(index)
                steps[:, index] = (rows[:, columns].argmax(axis=1) - person[columns].argmax()) % count
        return steps

    def raw(self, rows: Array) -> Array:
        """The raw value of each number, and the rank of each level, (..., M) of rows (..., D)."""
        columns, _, _, unit, low, scale = self.layout
        return np.rint((low + rows[..., columns] * scale) * unit) / unit

    def sizes(self, person: Array, rows: Array) -> Array:
        """The difference of each movable feature of ``rows`` (R, D) from a person's, the sum of its columns, (R, M)."""
        difference = np.abs(rows - person)[:, self._movable_columns]
        return np.add.reduceat(difference, self._movable_starts, axis=1)

    def targets(self, person: Array, steps: Steps) -> Array:
        """The encoded targets, (R, D), of a person (D,). A feature that stays keeps the person's columns."""
        return self.moved(np.repeat(person[np.newaxis], len(steps), axis=0), steps)

    def moved(self, people: Array, steps: Steps) -> Array:
        """The encoded targets, (R, D), of R people, each moved by a row of ``steps``."""
        targets = people.copy()
        move(targets, np.ascontiguousarray(steps), self.layout, self._rounded)
        return self._followed(targets, people)

    def moved_few(self, people: Array, owner: Indices, feature: Indices, steps: Steps) -> Array:
        """The same of people (n, D) by their numbers ``owner`` (R,), who change some features (R, K), below 0 where
        there is none, by ``steps`` (R, K)."""
        targets: Array = people[owner]
        move_few(targets, feature, steps, self.layout, self._rounded)
        return self._followed(targets, people, owner)

    def _followed(self, targets: Array, people: Array, owner: Indices | slice = slice(None)) -> Array:
        """The states in which people will be, who move features to those of their ``targets`` (R, D)."""
        consequences = self._space.consequences
        return targets if consequences is None else consequences.states_after(targets, people[owner])


@compiled
def move(targets: Array, steps: Steps, layout: Layout, rounded: bool) -> None:
    """Move each row of ``targets`` (R, D) by its ``steps`` (R, M), to multiples of the steps where ``rounded``."""
    for row in range(len(steps)):
        for feature in range(steps.shape[1]):
            if steps[row, feature] != 0:
                _move_feature(targets[row], feature, steps[row, feature], layout, rounded)


@compiled
def move_few(targets: Array, feature: Indices, steps: Steps, layout: Layout, rounded: bool) -> None:
    """The same where only some features (R, K), below 0 where there is none, move by ``steps`` (R, K)."""
    for row in range(len(steps)):
        for k in range(steps.shape[1]):
            if feature[row, k] >= 0:
                _move_feature(targets[row], feature[row, k], steps[row, k], layout, rounded)


@compiled
def _move_feature(target: Array, feature: int, count: int, layout: Layout, rounded: bool) -> None:
    """Move one feature of a target (D,)."""
    first, categories, step, unit, low, scale = layout
    column = first[feature]
    if categories[feature] > 0:
        current = 0
        for category in range(categories[feature]):
            if target[column + category] > target[column + current]:
                current = category
        target[column + current] = 0.0
        target[column + (current + count) % categories[feature]] = 1.0
        return
    raw = np.rint((low[feature] + target[column] * scale[feature]) * unit[feature]) / unit[feature]
    if rounded:
        place = raw / step[feature]
        raw = (np.ceil(place - ROUNDING) if count > 0 else np.floor(place + ROUNDING)) * step[feature]
    raw = np.rint((raw + count * step[feature]) * unit[feature]) / unit[feature]
    target[column] = (raw - low[feature]) / scale[feature]


def are_few(limits: StepLimits, most_changes: int, count: int) -> bool:
    """Whether at most ``count`` targets change at most ``most_changes`` features."""
    counts = [1.0] + [0.0] * most_changes
    for moves in (limits.most - limits.fewest).tolist():
        counts = [1.0, *(more + fewer * moves for fewer, more in pairwise(counts))]
        if sum(counts) - 1.0 > count:
            return False
    return True


def every_target(limits: StepLimits, most_changes: int) -> Steps:
    """All targets that change at most ``most_changes`` features."""
    every = np.zeros((1, len(limits.most)), dtype=np.int64)
    for index, (fewest, most) in enumerate(zip(limits.fewest.tolist(), limits.most.tolist(), strict=True)):
        extended = every[(every != 0).sum(axis=1) < most_changes]
        for move in (step for step in range(fewest, most + 1) if step):
            moved = extended.copy()
            moved[:, index] = move
            every = np.concatenate([every, moved])
    return every[1:]


def moves_of(fewest: int, most: int, count: int) -> tuple[int, ...]:
    """At most about ``count`` moves of one feature down to ``fewest`` and up to ``most``, more of the small ones."""
    share = count if 0 in (fewest, most) else count // 2
    return (*(-step for step in spread(-fewest, share)), *spread(most, share))


def moves_of_all(limits: StepLimits, count: int) -> tuple[Indices, Indices, Steps]:
    """The moves of n people by their limits (n, M), at most about ``count`` of each feature: whose they are, the
    feature, and the steps, (R,), by person and then by feature."""
    ends = np.column_stack([limits.fewest.ravel(), limits.most.ravel()])
    kinds, kind = np.unique(ends, axis=0, return_inverse=True)
    moves = [moves_of(fewest, most, count) for fewest, most in kinds.tolist()]
    length = np.array([len(steps) for steps in moves], dtype=np.intp)
    start, lengths = (np.cumsum(length) - length)[kind], length[kind]
    place = np.repeat(np.arange(len(lengths)), lengths)
    within = np.arange(len(place)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    every = np.array(list(chain.from_iterable(moves)), dtype=np.int64)
    owner, feature = np.divmod(place, max(1, limits.most.shape[1]))
    return owner, feature, every[start[place] + within]


def single_moves(moves: Sequence[Sequence[int]]) -> Steps:
    """Rows (R, M) that each make one of the ``moves`` of M features, feature by feature."""
    features = np.repeat(np.arange(len(moves)), [len(steps) for steps in moves])
    single = np.zeros((len(features), len(moves)), dtype=np.int64)
    single[np.arange(len(features)), features] = list(chain.from_iterable(moves))
    return single


def without_each_change(steps: Steps) -> Steps:
    """Rows of steps (R, M) without one of their changes each."""
    row, feature = np.nonzero(steps)
    fewer: Steps = steps[row]
    fewer[np.arange(len(row)), feature] = 0
    return fewer


@lru_cache
def spread(most: int, count: int) -> tuple[int, ...]:
    """At most ``count`` numbers from 1 to ``most``, more of the small than of the large ones."""
    if most <= count:
        return tuple(range(1, most + 1))
    return tuple(dict.fromkeys(round(most ** (place / (count - 1))) for place in range(count)))


def _step(space: Space, feature: int, column: int) -> float:
    step = float(space.smallest_change[feature])
    if space.digits[feature] <= 0:
        return max(1.0, math.ceil(step))
    return step or _round_number(space.scale.item(column) / STEPS_IN_A_RANGE)


def _round_step(space: Space, feature: int, column: int) -> float:
    """The step that a feature has, else a round number of its range."""
    width = space.scale.item(column)
    if space.smallest_change[feature] or (space.digits[feature] <= 0 and width < ROUND_STEPS_IN_A_RANGE):
        return _step(space, feature, column)
    number = _round_number(width / ROUND_STEPS_IN_A_RANGE)
    return max(1.0, number) if space.digits[feature] <= 0 else number


def _round_number(size: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(size))
    return min((power * digit for digit in (1, 2, 5, 10)), key=lambda number: abs(number - size))
