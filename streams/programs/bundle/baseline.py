"""The baseline of reasons: what people whom the model approves are typically like, feature by feature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import UNSET

from ....schemas.encoding import FeatureCodec
from ....schemas.events import Value
from .manifest import FeatureColumn

Features = Mapping[str, Value]


def baseline_of(approved: Sequence[Features], features: Sequence[FeatureColumn]) -> dict[str, Value] | None:
    """The lower median of each number and of each ordered level, and the most frequent category; None of nobody.

    Of categories that are equally frequent the first by name counts. An ordinal feature of a bundle that does not tell
    the order of its levels counts as one of categories.
    """
    if not approved:
        return None
    return {feature.name: _typical(feature, [row[feature.name] for row in approved]) for feature in features}


def misfit_of_baseline(baseline: Features, codec: FeatureCodec) -> str | None:
    """Why a codec cannot encode a baseline; None where it can."""
    problem = codec.check(baseline)
    return None if problem is None else problem.detail


def _typical(feature: FeatureColumn, values: Sequence[Value]) -> Value:
    middle, texts = (len(values) - 1) // 2, [str(value) for value in values]
    if feature.type in ("continuous", "integer"):
        return sorted(value for value in values if not isinstance(value, str))[middle]
    if feature.levels is not UNSET:
        return sorted(texts, key=feature.levels.index)[middle]
    counts = Counter(texts)
    return min(counts, key=lambda text: (-counts[text], text))
