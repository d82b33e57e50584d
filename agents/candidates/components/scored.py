"""The targets of one person that a search has scored, each once, while others are searched for beside."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from ...compiled import compiled
from ..contract import Array, Indices, Mask
from .grid import Steps
from .judge import pieces


class MeasuredTargets(NamedTuple):
    """The measurements of R targets: scores and costs (R,).

    ``allowed`` (R,) are those that keep the constraints, ``reached`` those that reach the goal. Those that do both and
    are not below the floor are ``valid``.
    """

    score: Array
    cost: Array
    allowed: Mask
    reached: Mask
    valid: Mask

    def subset(self, rows: slice) -> MeasuredTargets:
        """Some of the targets."""
        return MeasuredTargets._make([field[rows] for field in self])


T = TypeVar("T")
Asking = Generator[Steps, MeasuredTargets, T]
"""A search of one person: it asks about targets (R, M), goes on with their measures, and ends with a result."""


def in_lockstep(searches: Sequence[Asking[T]], measure: Callable[[Indices, Steps], MeasuredTargets]) -> list[T]:
    """The results of searches that ask together.

    ``measure`` is asked about the targets (R, M) of the searches with these numbers (R,), in order.
    """
    results: dict[int, T] = {}
    asked: dict[int, Steps] = {}

    def resume(number: int, answer: MeasuredTargets | None) -> None:
        search = searches[number]
        try:
            asked[number] = next(search) if answer is None else search.send(answer)
        except StopIteration as end:
            asked.pop(number, None)
            results[number] = end.value

    for number in range(len(searches)):
        resume(number, None)
    while asked:
        lengths = {number: len(steps) for number, steps in asked.items()}
        measured = measure(np.repeat(list(lengths), list(lengths.values())), np.concatenate(list(asked.values())))
        start = 0
        for number, length in lengths.items():
            resume(number, measured.subset(slice(start, start + length)))
            start += length
    return [results[number] for number in range(len(searches))]


class ScoredTargets:
    """The targets of a person that were asked for so far, numbered in this order; ``all`` is what is known of them.

    A search comes to many targets more than once, and asks about each of them only once.

    Parameters
    ----------
    open_features
        The features (m,) that the search moves, of those M that may change. There may be thousands of the others, so
        targets are kept as steps of these alone, (R, m).
    features
        The number M.
    """

    def __init__(self, open_features: Indices, features: int) -> None:
        none, nothing = np.zeros(0), np.zeros(0, dtype=np.bool_)
        self._open, self._features = open_features, features
        self._table = np.zeros(0, dtype=np.int64)
        self._known = np.zeros((0, len(open_features)), dtype=np.int64)
        self.all = MeasuredTargets(none, none, nothing, nothing, nothing)

    @property
    def steps(self) -> Steps:
        """The steps of all targets so far, (R, m)."""
        return self._known[: len(self.all.cost)]

    def whole(self, steps: Steps) -> Steps:
        """Targets (R, m) as steps of all features, (R, M)."""
        whole = np.zeros((len(steps), self._features), dtype=np.int64)
        whole[:, self._open] = steps
        return whole

    def add(self, steps: Steps) -> Asking[Indices]:
        """The numbers, (R,), of targets (R, m)."""
        before = self._room_for(len(steps))
        numbers = number_rows(steps, self._table, self._known, before)
        yield from self._measure(numbers, before)
        return numbers

    def extend(self, bases: Indices, feature: Indices, steps: Indices) -> Asking[Indices]:
        """The numbers of known targets (B,) that move one more ``feature`` (R,) by ``steps`` (R,), each number once.

        A target that moves this feature already stays as it is.
        """
        before = self._room_for(len(bases) * len(steps))
        numbers = number_extended(bases, feature, steps, self._table, self._known, before)
        yield from self._measure(numbers, before)
        return numbers

    def _measure(self, numbers: Indices, before: int) -> Asking[None]:
        """Ask about those of the numbers (R,) that are not below ``before``."""
        new = self._known[before : max(before, int(numbers.max(initial=-1)) + 1)]
        for piece in pieces(len(new), self._features) if len(new) else ():
            measured = yield self.whole(new[piece])
            self.all = MeasuredTargets._make(map(np.concatenate, zip(self.all, measured, strict=True)))

    def undominated(self) -> Indices:
        """The cheapest option of each set of features, by cost, without those that a part of their changes replaces.

        An option is left out when one that changes a part of its features costs no more.
        """
        options = np.flatnonzero(self.all.valid)
        # Of options that cost the same, such as by the largest shift, the one with fewer changes comes first.
        changes = (self.steps[options] != 0).sum(axis=1)
        options = options[np.lexsort((changes, self.all.cost[options]))]
        return np.asarray(options[without_parts(self.steps[options])])

    def _room_for(self, more: int) -> int:
        """Make room for more targets; return how many there are."""
        count = len(self.all.cost)
        if count + more >= len(self._known):
            room = 2 * (count + more) + 1
            table, known = np.full(1 << (4 * room).bit_length(), -1), np.empty((room, len(self._open)), dtype=np.int64)
            number_rows(self._known[:count], table, known, 0)
            self._table, self._known = table, known
        return count


@compiled
def number_rows(rows: Steps, table: Steps, known: Steps, count: int) -> Indices:
    """The numbers (R,) of ``rows`` (R, M) among the first ``count`` of ``known``; those that are new are appended.

    ``table`` is a hash table of them with linear probing: numbers, -1 where there is none. Its length is a power of 2.
    """
    numbers = np.empty(len(rows), np.intp)
    for i in range(len(rows)):
        slot = _slot(rows, i, table, known)
        if table[slot] < 0:
            table[slot] = count
            known[count] = rows[i]
            count += 1
        numbers[i] = table[slot]
    return numbers


@compiled
def number_extended(
    bases: Indices, feature: Indices, steps: Indices, table: Steps, known: Steps, count: int
) -> Indices:
    """The same of known rows ``bases`` (B,), each moved by each of the ``steps`` (R,) of a ``feature`` (R,) that it
    leaves: every number once."""
    numbers, seen, found = np.empty(len(bases) * len(steps), np.intp), np.zeros(len(known), np.bool_), 0
    for base in bases:
        for move in range(len(steps)):
            # The place of the next new row is free.
            known[count] = known[base]
            if known[count, feature[move]] == 0:
                known[count, feature[move]] = steps[move]
            slot = _slot(known, count, table, known)
            if table[slot] < 0:
                table[slot] = count
                count += 1
            if not seen[table[slot]]:
                seen[table[slot]] = True
                numbers[found] = table[slot]
                found += 1
    return numbers[:found]


@compiled
def _slot(rows: Steps, row: int, table: Steps, known: Steps) -> int:
    """The slot of a row's number, or the free one where it belongs."""
    mixed, last = 0, len(table) - 1
    for column in range(rows.shape[1]):
        # As FNV-1a, in 31 bits, so that nothing overflows.
        mixed = ((mixed ^ rows[row, column]) * 16777619) & 0x7FFFFFFF
    slot = (mixed ^ (mixed >> 15)) & last
    while table[slot] >= 0 and _differ(known, table[slot], rows, row):
        slot = (slot + 1) & last
    return slot


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
