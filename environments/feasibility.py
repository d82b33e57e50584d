"""Feasibility by a world's own code, so that the oracle does not depend on the product under test."""

from __future__ import annotations

import numpy as np

from ..agents.arrays import Array, Mask
from ..schemas.encoding import FeatureCodec

TOLERANCE = 1e-9
"""A change may be this much, in units of the feature's range, below the smallest change or above the largest."""


def feasible(people: Array, candidates: Array, codec: FeatureCodec) -> Mask:
    """Which candidates (K, D) each person (n, D) can become under the spec's features and ``max_changes``, (n, K)."""
    possible = np.ones((len(people), len(candidates)), dtype=bool)
    changes = np.zeros(possible.shape, dtype=np.int64)
    for index, feature in enumerate(codec.spec.features):
        moved = np.zeros(possible.shape, dtype=bool)
        for column in np.flatnonzero(codec.feature_of == index):
            change = candidates[None, :, column] - people[:, column, None]
            moved |= change != 0
            if feature.mutable == "up":
                possible &= change >= 0
            elif feature.mutable == "down":
                possible &= change <= 0
            largest, share = feature.largest_change
            if share < np.inf:
                own = codec.low[column] + people[:, column, None] * codec.scale[column]
                possible &= np.abs(change) <= share * np.abs(own) / codec.scale[column] + TOLERANCE
            possible &= np.abs(change) <= largest / codec.scale[column] + TOLERANCE
            if feature.step is not None:
                possible &= (change == 0) | (np.abs(change) >= feature.step / codec.scale[column] - TOLERANCE)
        if not feature.may_change:
            possible &= ~moved
        changes += moved
    most = codec.spec.constraints.max_changes
    return possible if most is None else possible & (changes <= most)
