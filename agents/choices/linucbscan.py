"""LinUCB's steps, compiled: one scans some ten or a hundred feasible candidates, which numpy's calls outweigh."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@compiled
def take_steps(
    first: Indices,
    last: Indices,
    feasible: Indices,
    execution: Array,
    v: Array,
    b: Array,
    theta: Array,
    bonuses: Array,
    total: Array,
    clock: NDArray[np.int64],
    constants: tuple[float, float, float, float],
    places: Indices,
) -> None:
    """Take the steps of a run (shapes as in ``Run``), in place.

    ``v``, ``b``, ``theta`` (K,) are the candidates' numbers, ``bonuses`` (m,) a ring of the last bonuses, ``clock`` the
    next step and the ring's oldest place. ``total`` is the ring's sum as two numbers, the second of which holds what
    rounding took from the first: the sum of a window of any length stays right to the last bit without adding it up.
    ``constants`` are K, K lambda, sqrt(lambda) and 2 log(1/delta). ``places`` (n,) takes where the picks stand.
    """
    count, prior, root, doubt = constants
    for i in range(len(first)):
        t = clock[0]
        clock[0] = t + 1
        places[i] = -1
        if first[i] == last[i]:
            continue
        growth = count * math.log((prior + t + 1) / prior)
        alpha = 2.0 * (root + math.sqrt(doubt + growth)) + total[0]
        best, bonus, at = -math.inf, 0.0, first[i]
        for place in range(first[i], last[i]):
            k, e = feasible[place], execution[place]
            q = e * e / v[k]
            score = theta[k] * e + q * alpha
            if score > best:
                best, bonus, at = score, q, place
        places[i] = at
        oldest = clock[1]
        for number in (bonus, -bonuses[oldest]):
            high = total[0] + number
            part = high - total[0]
            low = (total[0] - (high - part)) + (number - part) + total[1]
            total[0] = high + low
            total[1] = low - (total[0] - high)
        bonuses[oldest] = bonus
        clock[1] = (oldest + 1) % len(bonuses)
        k, e = feasible[at], execution[at]
        v[k] += e * e
        theta[k] = b[k] / v[k]
