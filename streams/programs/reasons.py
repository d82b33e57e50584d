"""The principal reasons of people whom a program's own model rejects, in the words of features.

A reason tells the person's own value and the side on which it lies. It tells no score, no weight, and nothing of the
people who are approved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from ...agents.fitted_trees.forests import Forest
from ...agents.reasons import (
    Contributions,
    LinearContributions,
    SampledContributions,
    TreeContributions,
    principal_reasons,
)
from ...agents.scores import LinearScore
from ...agents.trees import TreeSum
from ...schemas.encoding import FeatureCodec, FilledValues, Values
from ...schemas.events import Reason, Value, set_apart
from ...schemas.spec import Feature
from .bundle.loader import ModelBundle
from .models.scoring import DecisionModel

Array = NDArray[np.float64]


class PersonReasons(NamedTuple):
    """The reasons that a person is told, the foremost first, and the protected features that would be among them."""

    stated: tuple[Reason, ...]
    withheld: tuple[str, ...] = ()


class RejectionReasons:
    """Finds the reasons of people whom a model rejects, by comparison with a baseline.

    Parameters
    ----------
    codec
        The program's codec.
    model
        The model.
    baseline
        The raw values of what people whom the model approves are typically like.
    """

    def __init__(self, codec: FeatureCodec, model: DecisionModel, baseline: Mapping[str, Value]) -> None:
        [self._baseline] = codec.encode_many([baseline])
        self._contributions = contributions_under(model, self._baseline, codec)
        self._features, self._starts = codec.spec.features, codec.feature_of.searchsorted(range(len(codec.features)))
        self._barred = np.array([bool(feature.protected) for feature in self._features])

    def reasons_of(self, values: Sequence[Values], encoded: Array) -> list[PersonReasons]:
        """The reasons of n people, by their raw values and their encoded rows (n, D)."""
        principal = principal_reasons(self._contributions.contributions_of(encoded), self._barred)
        is_low = (encoded < self._baseline)[:, self._starts].tolist()
        features = self._features
        return [
            PersonReasons(
                tuple([_reason(features[number], number, raw, low[number]) for number in stated]),
                tuple([features[number].name for number in withheld]),
            )
            for (stated, withheld), raw, low in zip(principal, values, is_low, strict=True)
        ]


def reasons_under(bundle: ModelBundle, codec: FeatureCodec) -> RejectionReasons | None:
    """The finder of reasons of people whom a model rejects; None where its bundle tells nothing of the approved."""
    return None if bundle.baseline is None else RejectionReasons(codec, bundle.model, bundle.baseline)


def contributions_under(model: DecisionModel, baseline: Array, codec: FeatureCodec) -> Contributions:
    """The way to compute contributions that is exact and fast for the model, else the one for all."""
    score = model.score
    if isinstance(score, LinearScore):
        return LinearContributions(score, baseline, codec.feature_of)
    trees = model.as_sum() if isinstance(model, Forest) else model
    if isinstance(trees, TreeSum):
        return TreeContributions(trees, baseline, codec.feature_of)
    return SampledContributions(score, baseline, codec.feature_of)


def _reason(feature: Feature, number: int, values: Values, is_low: bool) -> Reason:
    if isinstance(values, FilledValues) and number in values.absent:
        return Reason(f"{feature.name} was not given", feature.name)
    value = UNSET if feature.pii else values[number]
    return Reason(in_words(feature, value, is_low=is_low), feature.name, value)


def in_words(feature: Feature, value: Value | UnsetType, *, is_low: bool) -> str:
    """A feature as a reason: on which side it lies, or which category it has. No value of personal data."""
    if feature.categories is None:
        return f"{feature.name} is too {'low' if is_low else 'high'}"
    return f"what was given as {feature.name}" if value is UNSET else f"{feature.name} is {set_apart(value)}"
