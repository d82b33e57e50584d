"""Whether the score of a row depends on the rows beside it. It must not: the engine cuts its journal anywhere."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Score = Callable[[Floats], Floats]

SAMPLE_ROWS = 200
CUTS = (1, 33, 2, 5, 64, 3, 17)
"""Sizes of the batches that the rows are scored in, over and over."""


def keeps_rows_apart(score: Score, X: Floats) -> bool:
    """Whether rows (n, D) get the same scores, bit for bit, again, in another order, and in batches of other sizes."""
    rows = X[:SAMPLE_ROWS]
    whole = score(rows)
    order = np.random.default_rng(0).permutation(len(rows))
    others = (score(rows), _in_cuts(score, rows), _put_back(_in_cuts(score, rows[order]), order))
    return all(whole.tobytes() == other.tobytes() for other in others)


def _in_cuts(score: Score, rows: Floats) -> Floats:
    scores, start = [np.empty(0)], 0
    for size in cycle(CUTS):
        if start >= len(rows):
            return np.concatenate(scores)
        scores.append(score(rows[start : start + size]))
        start += size
    raise AssertionError("a cycle has no end")


def _put_back(scores: Floats, order: NDArray[np.intp]) -> Floats:
    back = np.empty(len(scores))
    back[order] = scores
    return back
