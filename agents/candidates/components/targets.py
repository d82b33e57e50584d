"""The targets of a block of people as columns, and what a search picks among those of each person, compiled.

A target changes at most K features. It is kept as these features and the steps of each, not as a row of the features
that people could change: those may be thousands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled import compiled
from ..contract import Array, Indices, Mask
from .grid import Steps

NOTHING = -1
"""In place of a feature, after the last one that a target changes."""
MOST_MOVES = 96
"""Most moves of single features that are combined: those of the largest values."""
REFINED = 3
"""Sets whose best target is varied by a few steps of each feature."""
MOST_OPTIONS = 12
"""Most sets of features that a person is offered."""
LEAST_GAIN = 0.01
"""What each change must add to the logarithm of the probability that an option is carried out and helps."""
MUCH_NEARER = 0.7
"""A near option is offered beside the best one of its set where it costs no more than this share of it."""


class Targets(NamedTuple):
    """R targets of n people, by person: their ``owner`` (R,), the ascending ``feature`` (R, K) and ``steps`` (R, K).

    ``cost``, ``helps``, the log odds that they help, and ``odds``, those of their scores, (R,), are measured. So are
    ``value`` (R,), which is the larger the better, and ``near`` (R,), the same where effort is much harder.
    ``accepted`` (R,) keep the constraints, reach the goal and are not below the floor.
    """

    owner: Indices
    feature: Indices
    steps: Steps
    cost: Array
    helps: Array
    odds: Array
    value: Array
    near: Array
    accepted: Mask

    def subset(self, rows: Indices | Mask) -> Targets:
        """Some of the targets."""
        return Targets._make([field[rows] for field in self])

    def with_more(self, other: Targets) -> Targets:
        """These and others: of each person first these."""
        both = Targets._make([np.concatenate(fields) for fields in zip(self, other, strict=True)])
        return both.subset(np.argsort(both.owner, kind="stable"))

    def first(self, people: int) -> Indices:
        """Where the targets of each of so many people begin, and where the last ones end, (n + 1,)."""
        return np.searchsorted(self.owner, np.arange(people + 1))

    def all_steps(self, features: int) -> Steps:
        """The steps of every feature of so many, (R, M)."""
        every = np.zeros((len(self.owner), features), dtype=np.int64)
        row, place = np.nonzero(self.feature != NOTHING)
        every[row, self.feature[row, place]] = self.steps[row, place]
        return every


class Changes(NamedTuple):
    """Changes that may become targets: ``feature`` and ``steps`` (R, K), those of person i from ``first[i]`` (n + 1,)
    on."""

    feature: Indices
    steps: Steps
    first: Indices


@compiled
def useful(targets: Targets, first: Indices, features: int) -> tuple[Indices, Indices]:
    """The single moves of each person that no other replaces, at most ``MOST_MOVES``, and the farthest, in their order.

    The moves of a feature lie together. Returned are their numbers, and where those of each person begin, (n + 1,).
    """
    chosen, starts, at = np.empty(len(targets.owner), np.intp), np.zeros(len(first), np.intp), 0
    for i in range(len(first) - 1):
        a, b = first[i], first[i + 1]
        kept, marked = np.zeros(b - a, np.bool_), np.zeros(b - a, np.bool_)
        start = a
        while start < b:
            end = start
            while end < b and targets.feature[end, 0] == targets.feature[start, 0]:
                end += 1
            for target in range(start, end):
                kept[target - a] = not _replaced(targets, target, start, end)
            start = end
        value = np.where(kept, targets.value[a:b], -np.inf)
        marked[np.argsort(-value, kind="mergesort")[: min(MOST_MOVES, kept.sum())]] = True
        if b > a:
            _mark_farthest(targets, a, b, features, marked)
        starts[i + 1] = at + marked.sum()
        chosen[at : starts[i + 1]] = a + np.flatnonzero(marked)
        at = starts[i + 1]
    return chosen[:at], starts


@compiled
def _replaced(targets: Targets, target: int, start: int, end: int) -> bool:
    """Whether another of these moves costs no more than one, helps no less and scores no lower."""
    cost, helps, odds = targets.cost[target], targets.helps[target], targets.odds[target]
    for other in range(start, end):
        as_good = targets.cost[other] <= cost and targets.helps[other] >= helps and targets.odds[other] >= odds
        better = targets.cost[other] < cost or targets.helps[other] > helps or targets.odds[other] > odds
        if as_good and (other < target or better):
            return True
    return False


@compiled
def _mark_farthest(targets: Targets, a: int, b: int, features: int, marked: Mask) -> None:
    """Mark the farthest moves up and down, which may do together what none of them does alone.

    In place of a direction in which a feature does not move stands the first move of another feature.
    """
    leading = 0
    while a + leading < b and targets.feature[a + leading, 0] == targets.feature[a, 0]:
        leading += 1
    others = np.zeros(features, np.intp)
    others[targets.feature[a, 0]] = leading if a + leading < b else -1
    highest, lowest = others.copy(), others.copy()
    for target in range(b - a):
        m, steps = targets.feature[a + target, 0], targets.steps[a + target, 0]
        for far, sign in ((highest, 1), (lowest, -1)):
            before = targets.steps[a + far[m], 0] if far[m] >= 0 and targets.feature[a + far[m], 0] == m else 0
            if sign * steps > sign * before or far[m] < 0:
                far[m] = target
    for m in range(features):
        marked[highest[m]] = marked[lowest[m]] = True


@compiled
def without_harm(targets: Targets, first: Indices, unchanged: Array) -> None:
    """Accept no target any more that helps less probably than no change at all, of people who have others."""
    for i in range(len(first) - 1):
        span = slice(first[i], first[i + 1])
        harmless = targets.accepted[span] & (targets.helps[span] >= unchanged[i])
        if harmless.any():
            targets.accepted[span] = harmless


@compiled
def varied(
    targets: Targets, first: Indices, is_number: Mask, fewest: Steps, most: Steps, refinements: Steps
) -> Changes:
    """The best targets of each person's best sets, each with a few steps more or less of one number.

    Steps stay within ``fewest`` and ``most`` (n, M), and keep their direction.
    """
    width = targets.feature.shape[1]
    room = (len(first) - 1) * REFINED * width * len(refinements)
    feature, steps = np.empty((room, width), np.intp), np.empty((room, width), np.int64)
    starts, at = np.zeros(len(first), np.intp), 0
    for i in range(len(first) - 1):
        best = best_of_sets(targets, first[i], first[i + 1])[:REFINED]
        for refinement in refinements:
            for target in best:
                for place in range(width):
                    m, current = targets.feature[target, place], targets.steps[target, place]
                    moved = current + refinement
                    if m < 0 or not is_number[m] or moved < fewest[i, m] or moved > most[i, m]:
                        continue
                    if moved == 0 or (moved > 0) != (current > 0):
                        continue
                    feature[at], steps[at] = targets.feature[target], targets.steps[target]
                    steps[at, place] = moved
                    at += 1
        starts[i + 1] = at
    return Changes(feature[:at], steps[:at], starts)


@compiled
def fewer(targets: Targets, first: Indices, dearest: float) -> Changes:
    """The targets that each person would be offered, without one of their changes each, as far as another is left."""
    width = targets.feature.shape[1]
    room = (len(first) - 1) * 2 * MOST_OPTIONS * width
    feature, steps = np.empty((room, width), np.intp), np.empty((room, width), np.int64)
    starts, at = np.zeros(len(first), np.intp), 0
    for i in range(len(first) - 1):
        far, near = far_and_near(targets, first[i], first[i + 1], dearest)
        for target in np.concatenate((far, near)):
            size = _size(targets.feature[target])
            for place in range(size if size > 1 else 0):
                _leave_out(targets, target, place, feature[at], steps[at])
                at += 1
        starts[i + 1] = at
    return Changes(feature[:at], steps[:at], starts)


@compiled
def offered(targets: Targets, first: Indices, dearest: float) -> tuple[Indices, Mask, Indices]:
    """The numbers of the targets that each person is offered, the best first, and which of them are near ones.

    The last are where those of each person begin, (n + 1,).
    """
    room = (len(first) - 1) * 2 * MOST_OPTIONS
    chosen, is_near = np.empty(room, np.intp), np.zeros(room, np.bool_)
    starts, at = np.zeros(len(first), np.intp), 0
    for i in range(len(first) - 1):
        a, b = first[i], first[i + 1]
        far, near = far_and_near(targets, a, b, dearest)
        for target in far:
            chosen[at] = target
            at += 1
        for target in near:
            if _needs_all(targets, a, b, target):
                chosen[at], is_near[at] = target, True
                at += 1
        starts[i + 1] = at
    return chosen[:at], is_near[:at], starts


@compiled
def far_and_near(targets: Targets, a: int, b: int, dearest: float) -> tuple[Indices, Indices]:
    """The best of the targets from a to b, without those of which a part is as good, and near ones of the same sets."""
    best, count = best_of_sets(targets, a, b), 0
    far = np.empty(len(best), np.intp)
    for target in best:
        includes = False
        for before in far[:count]:
            includes = _is_part(targets.feature[before], targets.feature[target])
            if includes:
                break
        if not includes:
            far[count] = target
            count += 1
    far = far[:count]
    if count:
        far = far[targets.cost[far] <= dearest * targets.cost[far[0]]][:MOST_OPTIONS]
    near, count = np.empty(len(far), np.intp), 0
    for target in far:
        nearest = -1
        for other in range(a, b):
            nearer = targets.accepted[other] and (nearest < 0 or targets.near[other] > targets.near[nearest])
            if nearer and _same(targets.feature[other], targets.feature[target]):
                nearest = other
        if targets.cost[nearest] < MUCH_NEARER * targets.cost[target]:
            near[count] = nearest
            count += 1
    return far, near[:count]


@compiled
def best_of_sets(targets: Targets, a: int, b: int) -> Indices:
    """The best accepted one, from a to b, of each set of features, best first: each further change must be worth it."""
    accepted = a + np.flatnonzero(targets.accepted[a:b])
    loss, code = np.empty(len(accepted)), np.empty(len(accepted), np.int64)
    for k in range(len(accepted)):
        features = targets.feature[accepted[k]]
        loss[k] = LEAST_GAIN * _size(features) - targets.value[accepted[k]]
        code[k] = 0
        for m in features:
            code[k] = (code[k] << 15) | (m + 1)
    order = np.argsort(loss, kind="mergesort")
    code = code[order]
    is_first, before = np.zeros(len(order), np.bool_), np.int64(-1)
    for place in np.argsort(code, kind="mergesort"):
        is_first[place] = code[place] != before
        before = code[place]
    return accepted[order[is_first]]


@compiled
def _needs_all(targets: Targets, a: int, b: int, target: int) -> bool:
    """Whether no target from a to b is as good as one of which it is a part but for one change."""
    size = _size(targets.feature[target])
    least = targets.value[target] - LEAST_GAIN
    feature, steps = targets.feature[target].copy(), targets.steps[target].copy()
    for place in range(size if size > 1 else 0):
        _leave_out(targets, target, place, feature, steps)
        for part in range(a, b):
            as_good = targets.accepted[part] and not targets.value[part] < least
            if as_good and _same(targets.feature[part], feature) and _same(targets.steps[part], steps):
                return False
    return True


@compiled
def _leave_out(targets: Targets, target: int, place: int, feature: Indices, steps: Steps) -> None:
    """Write a target without its change at a place to ``feature`` and ``steps`` (K,)."""
    width = len(feature)
    for k in range(width - 1):
        taken = k if k < place else k + 1
        feature[k], steps[k] = targets.feature[target, taken], targets.steps[target, taken]
    feature[width - 1], steps[width - 1] = NOTHING, 0


@compiled
def _size(features: Indices) -> int:
    """How many features change."""
    count = 0
    for m in features:
        count += m >= 0
    return count


@compiled
def _same(one: Indices, other: Indices) -> bool:
    """Whether two short rows are equal."""
    for k in range(len(one)):  # noqa: SIM110 (numba compiles no generator)
        if one[k] != other[k]:
            return False
    return True


@compiled
def _is_part(part: Indices, whole: Indices) -> bool:
    """Whether all features of one ascending row are among those of another."""
    at = 0
    for m in part:
        if m < 0:
            break
        while at < len(whole) and 0 <= whole[at] < m:
            at += 1
        if at == len(whole) or whole[at] != m:
            return False
    return True


@compiled
def are_new(known: Changes, changes: Changes) -> Mask:
    """Which changes (R,) their person does not know yet, each for the first time."""
    new = np.zeros(len(changes.feature), np.bool_)
    for i in range(len(changes.first) - 1):
        a, b, c, d = known.first[i], known.first[i + 1], changes.first[i], changes.first[i + 1]
        if c == d:
            continue
        size = 16
        while size < 2 * (b - a + d - c):
            size *= 2
        # Open addressing: the number of a known change, counted from 1; below 0 that of a new one.
        table = np.zeros(size, np.int64)
        for number in range(a, b):
            slot = _mixed(known, number) & (size - 1)
            while table[slot] != 0:
                slot = (slot + 1) & (size - 1)
            table[slot] = number + 1
        for number in range(c, d):
            slot = _mixed(changes, number) & (size - 1)
            while table[slot] != 0:
                there = table[slot]
                if there > 0 and _equal(known, there - 1, changes, number):
                    break
                if there < 0 and _equal(changes, -1 - there, changes, number):
                    break
                slot = (slot + 1) & (size - 1)
            if table[slot] == 0:
                table[slot], new[number] = -1 - number, True
    return new


@compiled
def _mixed(changes: Changes, number: int) -> int:
    """A hash of a change, as FNV-1a, in 31 bits, so that nothing overflows."""
    mixed = 0
    for k in range(changes.feature.shape[1]):
        mixed = ((mixed ^ changes.feature[number, k]) * 16777619) & 0x7FFFFFFF
        mixed = ((mixed ^ changes.steps[number, k]) * 16777619) & 0x7FFFFFFF
    return mixed ^ (mixed >> 15)


@compiled
def _equal(one: Changes, number: int, other: Changes, other_number: int) -> bool:
    """Whether two changes are the same, without the arrays that comparing rows makes."""
    for k in range(one.feature.shape[1]):
        if (
            one.feature[number, k] != other.feature[other_number, k]
            or one.steps[number, k] != other.steps[other_number, k]
        ):
            return False
    return True
