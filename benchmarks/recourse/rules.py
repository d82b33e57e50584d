"""The rules of a spec that a target breaks, read off its raw values."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from onward.benchmarks.recourse.cases import Floats, changed_features
from onward.schemas.encoding import FeatureCodec
from onward.schemas.spec import Feature

TOLERANCE = 1e-6
"""In steps, and in units of raw values."""


def broken_rules(codec: FeatureCodec, person: Floats, target: Floats, max_changes: int) -> Counter[str]:
    """How often a target (D,) breaks each rule: immutable, direction, max_change, bounds, step, max_changes,
    constraint."""
    raw, own = codec.low + target * codec.scale, codec.codes(person[np.newaxis])[0]
    changed = np.flatnonzero(changed_features(codec, person[np.newaxis], target[np.newaxis])[0])
    broken: Counter[str] = Counter()
    for index in changed.tolist():
        feature, column = codec.spec.features[index], int(np.searchsorted(codec.feature_of, index))
        broken.update(_of_feature(feature, own.item(index), raw.item(column)))
    broken["max_changes"] += len(changed) > max_changes
    broken["constraint"] += not codec.keep_rules(target[np.newaxis])[0]
    return +broken


def _of_feature(feature: Feature, own: float, value: float) -> list[str]:
    """The rules that a changed feature breaks; a category has no order, so it can only be immutable."""
    broken = [] if feature.may_change else ["immutable"]
    if feature.categories is not None:
        return broken
    if (feature.mutable == "up" and value < own) or (feature.mutable == "down" and value > own):
        broken.append("direction")
    most, share = feature.largest_change
    if abs(value - own) > min(most, share * abs(own) if share < math.inf else math.inf) + TOLERANCE:
        broken.append("max_change")
    low, high = feature.bounds or (0, len(feature.levels or ()) - 1)
    if not low - TOLERANCE <= value <= high + TOLERANCE:
        broken.append("bounds")
    step = feature.step or (0.0 if feature.type == "continuous" else 1.0)
    steps = (value - own) / step if step else 0.0
    if abs(steps - round(steps)) > TOLERANCE:
        broken.append("step")
    return broken
