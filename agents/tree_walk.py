"""Trees walked once for many rows: a set of rows goes down a tree together, and parts where a node tells them apart.

Most rows that a search scores are variants of few people: in most columns they agree, and in the others they have few
values. So up to 64 rows are a set of bits. The values of each column are sorted once, each with the set of the rows
whose value is at most this one. A node finds the last value below its threshold, and that set parts the rows. A leaf
adds its value to all rows of the set that comes to it. Every row gets the leaves that it gets alone, in the order of
the trees, so its sum is the same, bit for bit.

Rows that lie on a grid, such as all that somebody comes to who does more and more of a change, need no comparison: a
node parts the grid at one place of an axis (``Boxes``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, Indices, Mask
from .compiled import compiled

Nodes = NDArray[np.int32]
Thresholds = NDArray[np.floating[Any]]
Words = NDArray[np.unsignedinteger[Any]]
Sets = NDArray[np.uint64]

SET = 64
"""The rows of a set, one a bit."""
SETS = 32
"""A tree is walked for so many sets before the next one, while its nodes are in the cache."""
NEW_VALUES = 3
"""Rows that bring more new values than this, each, have little in common: they are walked one by one."""
MOST_VALUES = 2 * NEW_VALUES * SET
"""Of the columns in which a set's rows differ: a column of one new value has two."""
ZERO, ONE, TWO, EVERY = np.uint64(0), np.uint64(1), np.uint64(2), ~np.uint64(0)
LEFT_ENDS, RIGHT_ENDS, COLUMN = np.uint64(1), np.uint64(2), np.uint64(2)
"""The bits of a word that say that the left or the right child is a leaf; by how much its column is shifted."""
PLACES = np.zeros(67, np.uint64)
PLACES[[2**bit % 67 for bit in range(SET)]] = range(SET)
"""The place of a bit by its remainder: the powers of 2 have different ones."""


class Walk(NamedTuple):
    """T trees of N nodes in the order of a walk: a node, all nodes to the left of it, all nodes to the right.

    ``roots`` (T,) are the trees' first nodes, inverted where this is a leaf. The left child of a node is the next one.
    A word of ``words`` (N,) says in its lowest bits whether the left and the right child are leaves, then the column in
    so many ``bits``, then how far the right child is. ``threshold`` and ``value`` (N,) are those of the nodes. Neither
    words nor thresholds of leaves are read, nor values of inner nodes.
    """

    roots: Indices
    words: Words
    threshold: Thresholds
    value: Array
    bits: np.uint64

    @classmethod
    def from_trees(cls, roots: Indices, nodes: Nodes, threshold: Thresholds, value: Array) -> Walk:
        """The walk of trees as ``TreeSum`` has them, where no node is the child of two."""
        place, distance = np.full(len(nodes), -1), np.ones(len(nodes), np.int64)
        count = put_in_order(roots, nodes, place, distance)
        if not np.array_equal(place, np.arange(len(nodes))):
            order = np.empty(count, np.intp)
            order[place[place >= 0]] = np.flatnonzero(place >= 0)
            nodes, distance, threshold, value = nodes[order], distance[order], threshold[order], value[order]
        is_leaf = nodes[:, 0] < 0
        inner = np.flatnonzero(~is_leaf)
        column, far = nodes[inner, 0].astype(np.uint64), distance[inner]
        bits = np.uint64(int(column.max(initial=0)).bit_length())
        words = np.zeros(count, np.uint64)
        words[inner] = is_leaf[inner + 1] * LEFT_ENDS | is_leaf[inner + far] * RIGHT_ENDS
        words[inner] |= column << COLUMN | far.astype(np.uint64) << (COLUMN + bits)
        if words.max(initial=0) <= np.iinfo(np.uint32).max:
            words = words.astype(np.uint32)
        first = place[roots]
        return cls(np.where(is_leaf[first], ~first, first).astype(np.intp), words, threshold, value, bits)

    def add_leaves(self, X: Array, group: Indices, total: Array) -> None:
        """Add to ``total`` (G, n) the leaves of encoded rows (n, D), each tree to the total of its ``group`` (T,)."""
        add_leaves(np.ascontiguousarray(X, dtype=self.threshold.dtype), self, group, total)

    def add_leaves_of(self, boxes: Boxes, total: Array) -> None:
        """Add to ``total`` (n,) the leaves of all rows of some boxes."""
        kind = self.threshold.dtype
        add_boxes(boxes._replace(rows=boxes.rows.astype(kind), values=boxes.values.astype(kind)), self, total)


class Boxes(NamedTuple):
    """B grids of A axes, whose points are rows that differ in some columns from one of P ``rows`` (P, D).

    F ``columns`` (F,) take one of ``values`` (P, F, K) each, which ascend or descend. Grid b is about row ``owner[b]``
    (B,). Along its axis ``axis[b, f]`` (B, F) column f takes its values one after the other; it stays as it is where
    this is below 0. Columns may share an axis. ``size`` (B, A) are the places of each axis, at most K.

    The n points of all grids have numbers: those of a grid follow each other, and the last axis goes first.
    """

    rows: Array
    columns: Indices
    values: Array
    owner: Indices
    axis: Indices
    size: Indices

    @property
    def first(self) -> Indices:
        """The number of each grid's first point, and how many points all have, (B + 1,)."""
        return np.concatenate([[0], np.cumsum(self.size.prod(axis=1))])

    def points(self, numbers: Indices) -> Array:
        """The rows of some points, (N, D) from (N,)."""
        first = self.first
        grid = np.searchsorted(first, numbers, side="right") - 1
        left, owner, place = numbers - first[grid], self.owner[grid], np.empty((self.size.shape[1], len(numbers)), int)
        for axis in reversed(range(len(place))):
            left, place[axis] = np.divmod(left, self.size[grid, axis])
        rows = self.rows[owner]
        for feature, column in enumerate(self.columns.tolist()):
            axis = self.axis[grid, feature]
            moves = np.flatnonzero(axis >= 0)
            rows[moves, column] = self.values[owner[moves], feature, place[axis[moves], moves]]
        return rows


class Variants(NamedTuple):
    """In which values the rows of each of S sets differ, of rows with D columns.

    ``ends`` (S, D, 2) are the least and the largest value of each column. For columns in which rows differ, all values
    are in ``values`` (S, MOST_VALUES), from ``first`` (S, D) to ``last`` (S, D), ascending, and in ``below`` (S,
    MOST_VALUES) the rows whose value is at most this one. NaN is the largest value, and above all thresholds.
    ``related`` (S,) says where the rows have so much in common that this is worth while.
    """

    ends: Thresholds
    first: NDArray[np.uint64]
    last: NDArray[np.uint64]
    values: Thresholds
    below: Sets
    related: Mask


@compiled
def put_in_order(roots: Indices, nodes: Nodes, place: Indices, distance: Indices) -> int:
    """Put the place of each node (N,) in a walk, and how far its right child is from it; return the number of nodes.

    ``distance`` is 1 everywhere, ``place`` of nodes that no tree has stays as it is. Children come after parents.
    """
    sizes = distance.copy()
    for node in range(len(nodes) - 1, -1, -1):
        if nodes[node, 0] >= 0:
            distance[node] += sizes[nodes[node, 1]]
            sizes[node] = distance[node] + sizes[nodes[node, 2]]
    count = 0
    for root in roots:
        place[root] = count
        count += sizes[root]
    for node in range(len(nodes)):
        if nodes[node, 0] >= 0 and place[node] >= 0:
            place[nodes[node, 1]] = place[node] + 1
            place[nodes[node, 2]] = place[node] + distance[node]
    return count


@compiled
def add_leaves(rows: Thresholds, walk: Walk, group: Indices, total: Array) -> None:
    """As ``Walk.add_leaves``, of ``rows`` (n, D) of the type of the thresholds."""
    if len(rows) == 1:
        add_by_rows(rows, walk, group, total)
        return
    columns, most = rows.shape[1], min(SETS, (len(rows) + SET - 1) // SET)
    variants = Variants(
        np.empty((most, columns, 2), rows.dtype),
        np.empty((most, columns), np.uint64),
        np.empty((most, columns), np.uint64),
        np.empty((most, MOST_VALUES), rows.dtype),
        np.empty((most, MOST_VALUES), np.uint64),
        np.zeros(most, np.bool_),
    )
    differ = np.empty(columns, np.uint64)
    for start in range(0, len(rows), SETS * SET):
        block, sums = rows[start : start + SETS * SET], total[:, start : start + SETS * SET]
        are_related = False
        variants.related[:] = False
        for number in range((len(block) + SET - 1) // SET):
            first = number * SET
            variants.related[number] = compare(block[first : first + SET], variants, number, differ)
            are_related = are_related or variants.related[number]
        if are_related:
            add_by_sets(block, walk, group, variants, sums)
        first = 0
        for number in range((len(block) + SET - 1) // SET + 1):
            last = number * SET
            if last >= len(block) or variants.related[number]:
                if first < last:
                    add_by_rows(block[first:last], walk, group, sums[:, first:last])
                first = last + SET


@compiled
def add_by_rows(rows: Thresholds, walk: Walk, group: Indices, total: Array) -> None:
    """As ``add_leaves``, row by row."""
    columns, far = (ONE << walk.bits) - ONE, COLUMN + walk.bits
    for tree in range(len(walk.roots)):
        root, sums = walk.roots[tree], total[group[tree]]
        for i in range(len(rows)):
            node = np.uint64(max(root, ~root))
            if root >= 0:
                node = leaf_of(rows[i], node, walk.words, walk.threshold, columns, far)
            sums[i] += walk.value[node]


@compiled
def leaf_of(
    row: Thresholds, node: np.uint64, words: Words, threshold: Thresholds, columns: np.uint64, far: np.uint64
) -> np.uint64:
    """The leaf to which ``row`` (D,) comes from an inner node; ``columns`` masks a column, ``far`` shifts distances."""
    is_leaf = False
    while not is_leaf:
        word = np.uint64(words[node])
        if row[(word >> COLUMN) & columns] <= threshold[node]:
            is_leaf = (word & LEFT_ENDS) != 0
            node += ONE
        else:
            is_leaf = (word & RIGHT_ENDS) != 0
            node += word >> far
    return node


@compiled
def add_to(sums: Array, here: np.uint64, every: np.uint64, value: float) -> None:
    """Add a value to the sums of the rows ``here``, a bit each."""
    if here == every:
        for i in range(len(sums)):
            sums[i] += value
        return
    while here != 0:
        rest = here & (here - ONE)
        sums[PLACES[(here ^ rest) % np.uint64(67)]] += value
        here = rest


@compiled
def add_by_sets(rows: Thresholds, walk: Walk, group: Indices, variants: Variants, total: Array) -> None:
    """As ``add_leaves``, of those sets that are related.

    Where a set parts, its right part waits: its node, whether this is a leaf, and the rows.
    """
    waiting = np.empty((SET, 3), np.uint64)
    columns, far = (ONE << walk.bits) - ONE, COLUMN + walk.bits
    for tree in range(len(walk.roots)):
        root, sums = walk.roots[tree], total[group[tree]]
        for number in range(len(variants.related)):
            if not variants.related[number]:
                continue
            start = number * SET
            size = min(SET, len(rows) - start)
            ends, values, below = variants.ends[number], variants.values[number], variants.below[number]
            first, last = variants.first[number], variants.last[number]
            every = EVERY >> np.uint64(SET - size)
            node, is_leaf, here, parts = np.uint64(max(root, ~root)), root < 0, every, np.uint64(0)
            while True:
                while not is_leaf:
                    if here & (here - ONE) == 0:
                        row = rows[np.uint64(start) + PLACES[here % np.uint64(67)]]
                        node = leaf_of(row, node, walk.words, walk.threshold, columns, far)
                        break
                    word, threshold = np.uint64(walk.words[node]), walk.threshold[node]
                    column = (word >> COLUMN) & columns
                    if ends[column, ZERO] <= threshold:
                        left = here
                        if not ends[column, ONE] <= threshold:
                            low, high = first[column], last[column]
                            while low < high:
                                middle = (low + high) >> ONE
                                if values[middle + ONE] <= threshold:
                                    low = middle + ONE
                                else:
                                    high = middle
                            left = here & below[low]
                        if left != 0:
                            if left != here:
                                waiting[parts, ZERO] = node + (word >> far)
                                waiting[parts, ONE] = word & RIGHT_ENDS
                                waiting[parts, TWO] = here ^ left
                                parts += ONE
                                here = left
                            is_leaf = (word & LEFT_ENDS) != 0
                            node += ONE
                            continue
                    is_leaf = (word & RIGHT_ENDS) != 0
                    node += word >> far
                add_to(sums[start : start + size], here, every, walk.value[node])
                if parts == 0:
                    break
                parts -= ONE
                node, is_leaf, here = waiting[parts, ZERO], waiting[parts, ONE] != 0, waiting[parts, TWO]


@compiled
def add_boxes(boxes: Boxes, walk: Walk, total: Array) -> None:
    """As ``Walk.add_leaves_of``, with rows and values of the type of the thresholds.

    Where a grid is parted, its far part waits: the node, whether this is a leaf, and where the axes begin and end.
    """
    axes, columns, far = boxes.size.shape[1], (ONE << walk.bits) - ONE, COLUMN + walk.bits
    none, longest = np.uint64(len(boxes.columns)), 1
    feature_of = np.full(boxes.rows.shape[1], none)
    for feature in range(len(boxes.columns)):
        feature_of[boxes.columns[feature]] = feature
    for b in range(len(boxes.size)):
        longest = max(longest, boxes.size[b].sum())
    waiting, here = np.empty((longest, 2, axes), np.uint64), np.zeros((2, axes), np.uint64)
    nodes, values = np.empty((longest, 2), np.uint64), boxes.values
    for tree in range(len(walk.roots)):
        root, first = walk.roots[tree], np.uint64(0)
        for b in range(len(boxes.owner)):
            owner, parts, points = np.uint64(boxes.owner[b]), np.uint64(0), ONE
            for axis in range(axes):
                here[0, axis], here[1, axis] = ZERO, boxes.size[b, axis]
                points *= here[1, axis]
            node, is_leaf = np.uint64(max(root, ~root)), root < 0
            while True:
                while not is_leaf:
                    word, threshold = np.uint64(walk.words[node]), walk.threshold[node]
                    column = (word >> COLUMN) & columns
                    feature = feature_of[column]
                    moving = boxes.axis[b, feature] if feature < none else -1
                    if moving < 0:
                        is_left = boxes.rows[owner, column] <= threshold
                    else:
                        along = np.uint64(moving)
                        low, high = here[ZERO, along], here[ONE, along] - ONE
                        is_left = values[owner, feature, low] <= threshold
                        if (values[owner, feature, high] <= threshold) != is_left:
                            while high - low > ONE:
                                middle = (low + high) >> ONE
                                if (values[owner, feature, middle] <= threshold) == is_left:
                                    low = middle
                                else:
                                    high = middle
                            nodes[parts, ZERO] = node + (word >> far if is_left else ONE)
                            nodes[parts, ONE] = word & (RIGHT_ENDS if is_left else LEFT_ENDS)
                            for number in range(axes):
                                waiting[parts, ZERO, number] = here[ZERO, number]
                                waiting[parts, ONE, number] = here[ONE, number]
                            waiting[parts, ZERO, along] = here[ONE, along] = high
                            parts += ONE
                    is_leaf = (word & (LEFT_ENDS if is_left else RIGHT_ENDS)) != 0
                    node += ONE if is_left else word >> far
                _add_to_box(total, first, boxes.size, b, here, walk.value[node])
                if parts == 0:
                    break
                parts -= ONE
                node, is_leaf = nodes[parts, ZERO], nodes[parts, ONE] != 0
                for number in range(axes):
                    here[ZERO, number], here[ONE, number] = waiting[parts, ZERO, number], waiting[parts, ONE, number]
            first += points


@compiled
def _add_to_box(total: Array, first: np.uint64, size: Indices, b: int, part: Sets, value: float) -> None:
    """Add a value to the points of a part of grid ``b``, whose points begin at ``first``: from ``part[0]`` to
    ``part[1]`` of each axis."""
    last, lines = size.shape[1] - 1, ONE
    for axis in range(last):
        lines *= part[ONE, axis] - part[ZERO, axis]
    length = part[ONE, last] - part[ZERO, last]
    for line in range(lines):
        left, start, width = np.uint64(line), first + part[ZERO, last], np.uint64(size[b, last])
        for axis in range(last - 1, -1, -1):
            places = part[ONE, axis] - part[ZERO, axis]
            rest = left // places
            start += (part[ZERO, axis] + left - rest * places) * width
            left, width = rest, width * np.uint64(size[b, axis])
        for point in range(length):
            total[start + np.uint64(point)] += value


@compiled
def compare(rows: Thresholds, variants: Variants, number: int, differ: Sets) -> bool:
    """Write the values of ``rows`` (n, D), at most 64, to the ``variants`` as those of a set, and return whether they
    are related. ``differ`` (D,) is overwritten."""
    differ[:] = 0
    for i in range(1, len(rows)):
        member = ONE << np.uint64(i)
        for column in range(rows.shape[1]):
            differ[column] |= member if rows[i, column] != rows[0, column] else ZERO
    values, below, used, room = variants.values[number], variants.below[number], 0, NEW_VALUES * len(rows)
    for column in range(rows.shape[1]):
        variants.ends[number, column, 0] = variants.ends[number, column, 1] = rows[0, column]
        if differ[column] != 0:
            count = sort_values(rows[:, column], differ[column], room, values[used:], below[used:])
            if count == 0:
                return False
            last = used + count - 1
            variants.ends[number, column, 0], variants.ends[number, column, 1] = values[used], values[last]
            # The last value is the largest: a threshold that tells rows apart is below it.
            variants.first[number, column], variants.last[number, column] = used, last - 1
            used, room = used + count, room - count + 1
    return True


@compiled
def sort_values(cells: Thresholds, others: np.uint64, room: int, values: Thresholds, below: Sets) -> int:
    """Put the different values of ``cells`` (n,), at most 64, in ascending order into ``values``, and into ``below``
    the cells of at most each value; return how many they are, 0 where ``room`` has fewer than are new.

    All but the ``others`` are equal to the first.
    """
    count, missing = 0, ZERO
    cell, members = cells[0], (EVERY >> np.uint64(SET - len(cells))) ^ others
    while members != 0:
        place = count
        if np.isnan(cell):
            missing |= members
        else:
            while place > 0 and values[place - 1] >= cell:
                place -= 1
            if place < count and values[place] == cell:
                below[place] |= members
            elif count > room:
                return 0
            else:
                for after in range(count, place, -1):
                    values[after], below[after] = values[after - 1], below[after - 1]
                values[place], below[place] = cell, members
                count += 1
        rest = others & (others - min(others, ONE))
        members, others = others ^ rest, rest
        cell = cells[PLACES[members % np.uint64(67)]]
    if missing != 0:
        if count > room:
            return 0
        values[count], below[count] = np.nan, missing
        count += 1
    for place in range(1, count):
        below[place] |= below[place - 1]
    return count
