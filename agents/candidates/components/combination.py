"""The combinations of changes that promise most, by the effects of single changes, compiled."""

from __future__ import annotations

import math

import numpy as np

from ...compiled import compiled
from ..contract import Array, Indices, Mask
from .grid import Steps

SHORT = 1.0
"""By how much the logarithm of the chance counts less where the model is predicted to reject the combination."""

Effects = tuple[Array, Array, Array]
"""The log odds that changes help, their costs, and the log odds of their scores, (R,) each."""


@compiled
def undominated(feature: Indices, effects: Effects) -> Mask:
    """The moves (R,), by ``feature`` (R,), that no move of the same feature replaces: one that costs no more, helps no
    less and scores no lower."""
    helps, cost, odds = effects
    kept = np.ones(len(feature), np.bool_)
    for i in range(len(feature)):
        for j in range(len(feature)):
            same = feature[j] == feature[i] and cost[j] <= cost[i] and helps[j] >= helps[i] and odds[j] >= odds[i]
            if same and (j < i or cost[j] < cost[i] or helps[j] > helps[i] or odds[j] > odds[i]):
                kept[i] = False
                break
    return kept


@compiled
def combined(
    bases: Steps,
    base: Effects,
    feature: Indices,
    move: Effects,
    own: tuple[float, float],
    nu: float,
    need: float,
    most: int,
) -> tuple[Array, Indices]:
    """The best combinations of each base (B, M) with a move of another feature, (C, 2) indices, and their values (C,).

    ``most`` is how many are kept of one base and feature.

    Effects add up: ``own`` are the person's log odds of being helped, and of the score, which must reach ``need``.
    The value is the logarithm of exp(-nu cost) p. Of bases that change one feature, only later ones are added.
    """
    features = bases.shape[1]
    value, codes = (
        np.full((len(bases), features, most), -math.inf),
        np.zeros((len(bases), features, most), np.intp),
    )
    of_set = np.zeros(len(bases), np.intp)
    for b in range(len(bases)):
        changed, last = 0, -1
        for m in range(features):
            if bases[b, m] != 0:
                changed, last = changed + 1, m
        # Bases of the same single feature compete for the places of the first of them.
        of_set[b] = b
        if changed == 1:
            for before in range(b):
                if bases[before, last] != 0:
                    of_set[b] = before
                    break
        for r in range(len(feature)):
            m = feature[r]
            if bases[b, m] != 0 or (changed == 1 and m < last):
                continue
            helps = base[0][b] + move[0][r] - own[0]
            worth = -math.log1p(math.exp(-helps)) if helps > -30.0 else helps
            worth -= nu * (base[1][b] + move[1][r])
            if base[2][b] + move[2][r] - own[1] < need:
                worth -= SHORT
            insert(value[of_set[b], m], codes[of_set[b], m], worth, b * len(feature) + r)
    places = np.flatnonzero(value.ravel() > -math.inf)
    pairs = np.empty((len(places), 2), np.intp)
    for i in range(len(places)):
        code = codes.ravel()[places[i]]
        pairs[i, 0], pairs[i, 1] = code // len(feature), code % len(feature)
    return value.ravel()[places], pairs


@compiled
def insert(value: Array, codes: Indices, worth: float, code: int) -> None:
    """Put a value among the largest, in descending order, with its code."""
    at = len(value) - 1
    if worth <= value[at]:
        return
    while at > 0 and value[at - 1] < worth:
        value[at], codes[at] = value[at - 1], codes[at - 1]
        at -= 1
    value[at], codes[at] = worth, code
