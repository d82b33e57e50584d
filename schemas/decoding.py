"""Encoded vectors back to raw features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .encoding import FeatureCodec, Values
from .events import Value
from .spec import Feature

Vector = NDArray[np.float64]


def decode(codec: FeatureCodec, values: Values, person: Vector, target: Vector) -> Values:
    """The raw values of an encoded target, shape (D,), for the person (D,) with these raw values.

    A feature whose columns are the person's keeps the person's value. An integer is rounded, a level or category is the
    nearest one.
    """
    decoded: list[Value] = []
    for number, (feature, value) in enumerate(zip(codec.spec.features, values, strict=True)):
        columns = np.flatnonzero(codec.feature_of == number)
        unchanged = np.array_equal(person[columns], target[columns])
        decoded.append(value if unchanged else _decoded(codec, feature, columns, target))
    return tuple(decoded)


def _decoded(codec: FeatureCodec, feature: Feature, columns: NDArray[np.intp], target: Vector) -> Value:
    if feature.categories is not None:
        return feature.categories[int(target[columns].argmax())]
    [column] = columns.tolist()
    raw = codec.low.item(column) + target.item(column) * codec.scale.item(column)
    if feature.levels is not None:
        return feature.levels[round(raw)]
    return round(raw) if feature.type == "integer" else raw
