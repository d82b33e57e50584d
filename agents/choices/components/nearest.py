"""The nearest other candidate of each, without comparing all with all."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ..contract import Array

BLOCK = 64
"""So many points lie together in a box, and are compared with another one at a time."""


def nearest_others(points: Array) -> NDArray[np.intp]:
    """Tell the nearest other one of each of the points (K, D), by the sum of absolute differences; shape (K,).

    The first among equally near ones is told, and of a single point itself. The points are divided into boxes; a box
    that is farther away than what was found already is passed over. That a box's distance is summed up in the same
    order as a point's makes this exact: rounding is monotone. Where all are about equally far from all, few boxes are
    passed over, and the time grows with the square of K.
    """
    count, columns = points.shape
    boxes = _divided(points) if count else []
    sides = np.full((len(boxes), columns, BLOCK), math.inf)
    order = np.full((len(boxes), BLOCK), count, dtype=np.intp)
    low, high = np.empty((len(boxes), columns)), np.empty((len(boxes), columns))
    for box, members in enumerate(boxes):
        sides[box, :, : len(members)] = points[members].T
        order[box, : len(members)] = members
        low[box], high[box] = points[members].min(axis=0), points[members].max(axis=0)
    neighbour = np.arange(count)
    find_nearest(sides, order, low, high, neighbour)
    return neighbour


def _divided(points: Array) -> list[NDArray[np.intp]]:
    """The points in boxes of ``BLOCK``, the last one maybe of fewer, each halved along its widest column before."""
    done: list[NDArray[np.intp]] = []
    left = [np.arange(len(points))]
    while left:
        members = left.pop()
        if len(members) <= BLOCK:
            done.append(np.sort(members))
            continue
        inside = points[members]
        widest = np.argmax(inside.max(axis=0) - inside.min(axis=0))
        half = BLOCK * ((len(members) + BLOCK) // (2 * BLOCK))
        cut = np.argpartition(inside[:, widest], half)
        left += [members[cut[half:]], members[cut[:half]]]
    return sorted(done, key=lambda members: int(members[0]))


@compiled
def find_nearest(sides: Array, order: NDArray[np.intp], low: Array, high: Array, neighbour: NDArray[np.intp]) -> None:
    """Put the nearest other one of each point into ``neighbour`` (K,).

    ``sides`` (boxes, D, BLOCK) are the points, ``order`` (boxes, BLOCK) which they are; infinity and K where there is
    none. ``low`` and ``high`` (boxes, D) are the corners of the boxes, which come in the order of their first points.
    """
    boxes, columns = low.shape
    point, distance = np.empty(columns), np.empty(BLOCK)
    nearest, gaps = np.empty(BLOCK), np.empty(boxes)
    for box in range(boxes):
        for other in range(boxes):
            gaps[other] = gap(low[box], high[box], low[other], high[other])
        gaps[box] = -1.0
        members = 0
        while members < BLOCK and order[box, members] < len(neighbour):
            nearest[members] = math.inf
            members += 1
        for other in np.argsort(gaps, kind="mergesort"):
            if gaps[other] > nearest[:members].max():
                break
            for i in range(members):
                k = order[box, i]
                if passes(gaps[other], order[other, 0], nearest[i], neighbour[k]):
                    continue
                for d in range(columns):
                    point[d] = sides[box, d, i]
                least = gap(point, point, low[other], high[other])
                if not passes(least, order[other, 0], nearest[i], neighbour[k]):
                    own = i if other == box else -1
                    nearest[i], neighbour[k] = nearer(
                        point, sides[other], order[other], own, nearest[i], neighbour[k], distance
                    )


@compiled
def passes(least: float, first: int, nearest: float, k: int) -> bool:
    """Whether a box that is ``least`` away and whose first point is ``first`` has none that comes before k, which is
    ``nearest`` away."""
    return least > nearest or (least == nearest and first > k)


@compiled
def nearer(
    point: Array, side: Array, order: NDArray[np.intp], own: int, nearest: float, k: int, distance: Array
) -> tuple[float, int]:
    """Tell which comes first, k, which is ``nearest`` away, or one of a box, of which the ``own``-th does not count."""
    distance[:] = 0.0
    for d in range(len(point)):
        for j in range(BLOCK):
            distance[j] += abs(point[d] - side[d, j])
    if own >= 0:
        distance[own] = math.inf
    hits = 0
    for j in range(BLOCK):
        hits += distance[j] <= nearest
    if hits:
        for j in range(BLOCK):
            if distance[j] < nearest or (distance[j] == nearest and order[j] < k):
                nearest, k = distance[j], order[j]
    return nearest, k


@compiled
def gap(low: Array, high: Array, other_low: Array, other_high: Array) -> float:
    """The least distance of points of two boxes, given by their corners (D,)."""
    total = 0.0
    for d in range(len(low)):
        total += max(other_low[d] - high[d], low[d] - other_high[d], 0.0)
    return total
