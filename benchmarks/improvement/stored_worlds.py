"""Worlds from stored arrays: the reference worlds of ARLIM's data sets, with raw applications."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from onward.benchmarks.improvement.studied_world import StudiedWorld
from onward.environments.improvement import Applicants, InstanceArms, OutcomeDraws
from onward.schemas.encoding import FeatureCodec
from onward.schemas.events import Value
from onward.schemas.spec import Feature, ProgramSpec

Floats = NDArray[np.float64]

DECIMALS = 6
"""Data files have fewer, except where a number in them was computed."""

NEIGHBOURS = 8
"""Scaling to [0, 1] and back misses the true value by at most this many floats."""


def from_arrays(arrays: Mapping[str, NDArray[np.generic]], spec: ProgramSpec) -> StudiedWorld:
    """The world of stored arrays: X (T, D), CF (K, D), theta, theta_noisy (K,), U, delay (T,), feature_min,
    feature_max (D,), columns in the order of the spec's encoded ones.

    The forest that made the arrays is not among them: the world's estimator is one unpruned tree that rejects all of X
    and accepts all of CF. Raises ValueError when the arrays are not scaled by the spec's bounds.
    """
    X, CF, low, high, noisy, uniform = (
        np.asarray(arrays[name], dtype=np.float64)
        for name in ("X", "CF", "feature_min", "feature_max", "theta_noisy", "U")
    )
    codec = FeatureCodec(spec)
    if not (np.array_equal(low, codec.low) and np.array_equal(high - low, codec.scale)):
        raise ValueError(
            f"the arrays are not scaled by the bounds of program {spec.program}: give the spec of their data"
        )
    distinct, who = np.unique(X, axis=0, return_inverse=True)
    people, instances = raw_rows(distinct, codec), raw_rows(CF, codec)
    return StudiedWorld(
        spec,
        _separator(codec.encode_many(people), codec.encode_many(instances)),
        InstanceArms(instances, np.asarray(arrays["theta"], dtype=np.int64), noisy),
        Applicants(people, who, np.ones(len(X), dtype=bool)),
        OutcomeDraws(uniform, np.asarray(arrays["delay"], dtype=np.int64)),
    )


def raw_rows(encoded: Floats, codec: FeatureCodec) -> list[dict[str, Value]]:
    """The raw rows of an encoded matrix (n, D): plain decimals where they encode to the same numbers bit for bit."""
    own = [np.flatnonzero(codec.feature_of == index) for index in range(len(codec.spec.features))]
    return [
        {
            feature.name: _value(row[columns], feature, codec.low[columns[0]], codec.scale[columns[0]])
            for feature, columns in zip(codec.spec.features, own, strict=True)
        }
        for row in encoded
    ]


def _value(cells: Floats, feature: Feature, low: float, scale: float) -> Value:
    if feature.categories is not None:
        return feature.categories[int(cells.argmax())]
    scaled = float(cells[0])
    value = float(scaled * scale + low)
    if feature.levels is not None:
        return feature.levels[round(value)]
    if feature.type == "integer":
        return round(value)
    exact = (near for near in _near(value) if (near - low) / scale == scaled)
    near = next(exact, value)
    return int(near) if near.is_integer() else near


def _near(value: float) -> Iterator[float]:
    """The most likely decimal, then the floats around the value, nearest first."""
    yield round(value, DECIMALS)
    yield value
    above = below = value
    for _ in range(NEIGHBOURS):
        above, below = math.nextafter(above, math.inf), math.nextafter(below, -math.inf)
        yield above
        yield below


def _separator(people: Floats, instances: Floats) -> RandomForestClassifier:
    labels = np.repeat([0, 1], [len(people), len(instances)])
    tree = RandomForestClassifier(n_estimators=1, bootstrap=False, max_features=None, random_state=0)
    return tree.fit(np.concatenate([people, instances]), labels)
