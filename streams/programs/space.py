"""The changes that people may make, from the spec's features and constraints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...agents.candidates import Ranges, Space
from ...agents.consequences import Consequences
from ...schemas.encoding import FeatureCodec
from ...schemas.spec import Feature

WIDENED = 0.25
"""How far, as a share of its range, a feature's bounds could be wider at most."""
PERCENT = ("%", "percent", "per cent")
"""Units of which there are at most 100."""


def space_of(codec: FeatureCodec, consequences: Consequences | None = None) -> Space:
    """The space that a generator searches, by the rules of the codec's spec, and what follows from changes."""
    features, constraints = codec.spec.features, codec.spec.constraints
    return Space(
        codec.feature_of,
        codec.low,
        codec.scale,
        tuple("none" if feature.mutable == "follows" else feature.mutable for feature in features),
        np.array([feature.step or 0.0 for feature in features]),
        codec.digits,
        constraints.max_changes,
        codec.keep_rules,
        tuple(feature.name for feature in features),
        _ranges(features),
        _largest_steps(features),
        tuple(feature.unit for feature in features),
        consequences,
    )


def _ranges(features: Sequence[Feature]) -> Ranges:
    """How far each feature may go. A one-hot feature has no order: its bounds mean nothing."""
    lowest, highest = np.array([_bounds(feature) for feature in features], dtype=np.float64).T
    change, share = np.array([feature.largest_change for feature in features], dtype=np.float64).T
    floor, ceiling = np.array([_widest(feature) for feature in features], dtype=np.float64).T
    return Ranges(lowest, highest, change, share, floor, ceiling)


def _largest_steps(features: Sequence[Feature]) -> NDArray[np.float64] | None:
    """The most that one step of a plan changes each feature; None where none is limited."""
    steps = [feature.largest_step for feature in features]
    if all(step is None for step in steps):
        return None
    return np.array([np.inf if step is None else step for step in steps], dtype=np.float64)


def _bounds(feature: Feature) -> tuple[float, float]:
    return feature.bounds or (0.0, len(feature.levels or feature.categories or ()) - 1.0)


def _widest(feature: Feature) -> tuple[float, float]:
    """The farthest bounds that an explanation may name.

    The model has seen nothing far outside of the bounds. A bound of 0 is one of nature, and so is 100 percent.
    """
    low, high = _bounds(feature)
    if feature.bounds is None:
        return low, high
    more = WIDENED * (high - low)
    most = 100.0 if feature.unit in PERCENT and high <= 100.0 else high + more
    return (max(0.0, low - more) if low >= 0.0 else low - more), (min(0.0, most) if high <= 0.0 else most)
