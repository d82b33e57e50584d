"""What people may change, from the spec's features and constraints."""

from __future__ import annotations

import numpy as np

from ...agents.candidates import Space
from ...schemas.encoding import FeatureCodec


def space_of(codec: FeatureCodec) -> Space:
    """The space that a generator searches, by the rules of the codec's spec."""
    features, constraints = codec.spec.features, codec.spec.constraints
    return Space(
        codec.feature_of,
        codec.low,
        codec.scale,
        tuple(feature.mutable for feature in features),
        np.array([feature.step or 0.0 for feature in features]),
        codec.digits,
        constraints.max_changes,
        codec.keep_rules,
        tuple(feature.name for feature in features),
    )
