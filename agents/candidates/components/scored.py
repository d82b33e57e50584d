"""The targets of one person that a search has scored, each once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...compiled import compiled
from ..contract import Array, Indices, Mask
from .grid import Steps


class Measured(NamedTuple):
    """R targets and their measures: steps (R, M), encoded rows (R, D), scores and costs (R,).

    ``allowed`` (R,) are those that keep the constraints, ``valid`` (R,) those of them that reach the goal.
    """

    steps: Steps
    rows: Array
    score: Array
    cost: Array
    allowed: Mask
    valid: Mask


class ScoredTargets:
    """The targets of a person that were asked for so far, numbered in this order; ``all`` is what is known of them.

    A search comes to many targets more than once. ``measure`` is asked about each of them only once.
    """

    def __init__(self, measure: Callable[[Steps], Measured], steps: Steps) -> None:
        self._measure = measure
        self._table, self._known = np.zeros(0, dtype=np.int64), steps[:0]
        numbers = self._number(steps)
        self.all = measure(self._known[: int(numbers.max(initial=-1)) + 1])

    def add(self, steps: Steps) -> Indices:
        """The numbers, (R,), of targets (R, M)."""
        before = len(self.all.cost)
        numbers = self._number(steps)
        new = self._known[before : max(before, int(numbers.max(initial=-1)) + 1)]
        if len(new):
            self.all = Measured._make(map(np.concatenate, zip(self.all, self._measure(new), strict=True)))
        return numbers

    def undominated(self) -> Indices:
        """The cheapest option of each set of features, by cost, without those that a part of their changes replaces.

        An option is left out when one that changes a part of its features costs no more.
        """
        options = np.flatnonzero(self.all.valid)
        # Of options that cost the same, such as by the largest shift, the one with fewer changes comes first.
        changes = (self.all.steps[options] != 0).sum(axis=1)
        options = options[np.lexsort((changes, self.all.cost[options]))]
        return np.asarray(options[without_parts(self.all.steps[options])])

    def _number(self, steps: Steps) -> Indices:
        count = len(self.all.cost) if len(self._known) else 0
        if count + len(steps) > len(self._known):
            room = 2 * (count + len(steps))
            table, known = np.full(1 << (4 * room).bit_length(), -1), np.empty((room, steps.shape[1]), dtype=np.int64)
            number_rows(self._known[:count], table, known, 0)
            self._table, self._known = table, known
        return number_rows(steps, self._table, self._known, count)


@compiled
def number_rows(rows: Steps, table: Steps, known: Steps, count: int) -> Indices:
    """The numbers (R,) of ``rows`` (R, M) among the first ``count`` of ``known``; those that are new are appended.

    ``table`` is a hash table of them with linear probing: numbers, -1 where there is none. Its length is a power of 2.
    """
    numbers, last = np.empty(len(rows), np.intp), len(table) - 1
    for i in range(len(rows)):
        mixed = 0
        for value in rows[i]:
            mixed = ((mixed ^ value) * 16777619) & 0x7FFFFFFF  # as FNV-1a, in 31 bits, so that nothing overflows
        slot = (mixed ^ (mixed >> 15)) & last
        while table[slot] >= 0 and _differ(known, table[slot], rows, i):
            slot = (slot + 1) & last
        if table[slot] < 0:
            table[slot] = count
            known[count] = rows[i]
            count += 1
        numbers[i] = table[slot]
    return numbers


@compiled
def _differ(known: Steps, number: int, rows: Steps, row: int) -> bool:
    """Whether a known row and another differ, without the array that comparing them as arrays makes."""
    for column in range(rows.shape[1]):  # noqa: SIM110 (numba compiles no generator)
        if known[number, column] != rows[row, column]:
            return True
    return False


@compiled
def without_parts(steps: Steps) -> Indices:
    """The rows of ``steps`` (R, M) whose changed features include those of no row before them."""
    kept = np.empty(len(steps), np.intp)
    count = 0
    for row in range(len(steps)):
        includes = False
        for before in kept[:count]:
            includes = True
            for feature in range(steps.shape[1]):
                if steps[before, feature] != 0 and steps[row, feature] == 0:
                    includes = False
                    break
            if includes:
                break
        if not includes:
            kept[count] = row
            count += 1
    return kept[:count]
