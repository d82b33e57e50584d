"""The columns of a model over one matrix: raw or encoded, and which.

A file does not say it. The number of columns leaves few layouts, and the splits of trees disprove some of them: no
split of encoded columns lies outside of 0 to 1, and most splits of a raw column lie within the bounds of its feature.
What is left is scored (``training/matrix_columns.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....schemas.encoding import FeatureCodec, columns_of
from ....schemas.spec import Feature
from .score import MatrixColumns

if TYPE_CHECKING:
    from onnx import ModelProto

Floats = NDArray[np.float64]
Stated = Literal["raw", "encoded"] | tuple[str, ...]
"""What somebody says of the columns: of which kind they are, in the order of the spec; or the names of raw ones."""

WITHIN = 0.5
"""The least share of a raw column's splits that lie within its feature's bounds: people of other data may be beyond."""
_TOLERANCE = 1e-6
_BOOLEANS = {"true": 1.0, "false": 0.0}


class LayoutColumn(NamedTuple):
    """A column of the matrix: of the feature number ``feature``, whose first encoded column is ``place``.

    ``numbers`` are the raw values of its levels or categories by their codes, None for a number. Where ``is_plain`` the
    encoded column ``place`` itself is taken.
    """

    feature: int
    place: int
    numbers: Floats | None
    is_plain: bool


class Layout:
    """The columns of a matrix, for the features of a program. Raises ValueError for names that it does not have."""

    def __init__(self, matrix: MatrixColumns, codec: FeatureCodec) -> None:
        self.matrix, self._codec = matrix, codec
        places = {name: place for place, name in enumerate(codec.columns)}
        indices = {feature.name: index for index, feature in enumerate(codec.spec.features)}
        self.columns: list[LayoutColumn] = []
        for name in matrix.names:
            if name not in places and name not in indices:
                raise ValueError(f"its matrix has a column {name}, which the spec does not have")
            if name in places:
                index, place = int(codec.feature_of[places[name]]), places[name]
            else:
                index, place = indices[name], places[columns_of(codec.spec.features[indices[name]])[0]]
            feature = codec.features[index]
            is_plain = not matrix.raw or (feature.type == "categorical" and name in places)
            self.columns.append(LayoutColumn(index, place, None if is_plain else numbers_of(feature), is_plain))

    @property
    def features(self) -> frozenset[str]:
        """The names of the features that have a column."""
        return frozenset(self._codec.spec.features[column.feature].name for column in self.columns)

    @property
    def is_in_order(self) -> bool:
        """Whether the columns stand in the order of the spec."""
        places = [column.place for column in self.columns]
        return places == sorted(places)

    @property
    def is_whole(self) -> bool:
        """Whether every value is a whole number."""
        features = [self._codec.features[column.feature] for column in self.columns]
        fits = (
            column.is_plain
            or (feature.type == "integer" if column.numbers is None else bool((column.numbers % 1 == 0).all()))
            for column, feature in zip(self.columns, features, strict=True)
        )
        return self.matrix.raw and all(fits)

    def rows(self, X: Floats) -> Floats:
        """The matrix, (n, W), of encoded rows (n, D)."""
        if not self.matrix.raw:
            return X[:, [column.place for column in self.columns]]
        codes, values = self._codec.codes(X), np.empty((len(X), len(self.columns)))
        for number, (feature, place, numbers, is_plain) in enumerate(self.columns):
            column_codes = codes[:, feature]
            values[:, number] = (
                X[:, place] if is_plain else column_codes if numbers is None else numbers[column_codes.astype(np.intp)]
            )
        return values

    def disproof(self, splits: Sequence[Floats]) -> str | None:
        """Why the columns of trees with these splits, one array a column, are not these; None where they may be."""
        for number, (column, points) in enumerate(zip(self.columns, splits, strict=True)):
            low, high = (0.0, 1.0) if column.is_plain else self._range(column)
            within = (points >= low - _TOLERANCE) & (points <= high + _TOLERANCE)
            if len(points) and within.mean() < (1.0 if column.is_plain else WITHIN):
                named = f"column {number}, {self.matrix.names[number]}, " if self.matrix.raw else f"column {number} "
                return f"its splits of {named}go from {points.min():g} to {points.max():g}, beyond {low:g} to {high:g}"
        return None

    def split(self, number: int, thresholds: NDArray[np.float32]) -> Floats | None:
        """The thresholds of the encoded column that decide as these of a raw one do; None where there are none.

        A value goes left where it is at most the threshold, compared in float32.
        """
        column = self.columns[number]
        if column.is_plain:
            return thresholds.astype(np.float64)
        highest = _highest(thresholds)
        if column.numbers is not None:
            if self._codec.features[column.feature].type == "categorical" or (np.diff(column.numbers) <= 0).any():
                return None
            below = np.searchsorted(column.numbers, highest, side="right") - 1
            return np.asarray((below + 0.5) / (len(column.numbers) - 1))
        if self._codec.features[column.feature].type == "integer":
            highest = np.floor(highest) + 0.5
        return np.asarray((highest - self._codec.low[column.place]) / self._codec.scale[column.place])

    def _range(self, column: LayoutColumn) -> tuple[float, float]:
        if column.numbers is not None:
            return float(column.numbers.min()), float(column.numbers.max())
        return self._codec.features[column.feature].bounds or (0.0, 1.0)


def layouts_of(codec: FeatureCodec) -> Iterator[Layout]:
    """The layouts that a matrix may have: encoded columns, or raw ones with a column a feature or a category.

    Raw ones may stand in the order of the spec, or with categories behind all numbers, or sorted, as libraries write
    them. Where features may not be read, also those without them.
    """
    features = codec.spec.features
    seen: set[MatrixColumns] = set()
    for left_out in {frozenset[str](): None, codec.spec.barred: None}:
        kept = [feature for feature in features if feature.name not in left_out]
        wide, *others = _orders(kept)
        numeric = [feature.type != "categorical" or numbers_of(feature) is not None for feature in kept]
        narrow = tuple(feature.name for feature in kept) if all(numeric) else wide
        raw = dict.fromkeys((wide, *others, narrow))
        if _is_encoded(Layout(MatrixColumns(wide, True), codec), codec):
            del raw[wide]
        for matrix in (MatrixColumns(wide, False), *(MatrixColumns(names, True) for names in raw)):
            if matrix not in seen:
                seen.add(matrix)
                yield Layout(matrix, codec)


def _orders(features: Sequence[Feature]) -> list[tuple[str, ...]]:
    """The orders in which a column a number and a category may stand, that of the spec first."""
    numbers_first = sorted(features, key=lambda feature: feature.type == "categorical")
    return [
        tuple(name for feature in order for name in (_sorted_columns(feature) if by_name else columns_of(feature)))
        for by_name in (False, True)
        for order in (features, numbers_first)
    ]


def _sorted_columns(feature: Feature) -> Sequence[str]:
    """The encoded columns of a feature by its categories in alphabetical order."""
    columns = columns_of(feature)
    categories = feature.categories or columns
    return [column for _, column in sorted(zip(categories, columns, strict=True))]


def numbers_of(feature: Feature) -> Floats | None:
    """The raw numbers of a feature's levels or categories: those that they are, or the ranks of levels.

    True and False are 1 and 0. None for a feature of numbers, and for categories that are none.
    """
    if (numbers := numbers_in(feature.levels or feature.categories or ())) is not None:
        return numbers
    return np.arange(len(feature.levels), dtype=np.float64) if feature.levels else None


def numbers_in(texts: Sequence[str]) -> Floats | None:
    """The numbers that texts are, with True as 1 and False as 0; None where they are none, or not all different."""
    try:
        numbers = np.array([_BOOLEANS[text.lower()] if text.lower() in _BOOLEANS else float(text) for text in texts])
    except ValueError:
        return None
    return numbers if len(numbers) and len(np.unique(numbers)) == len(numbers) else None


def splits_of(model: ModelProto, width: int) -> list[Floats] | None:
    """The splits of a model's trees, an array for each of the ``width`` columns of its only input.

    None where no ensemble of trees reads the input as it is.
    """
    constants = {tensor.name for tensor in model.graph.initializer}
    as_is = {entry.name for entry in model.graph.input if entry.name not in constants}
    found = False
    splits: list[list[float]] = [[] for _ in range(width)]
    for node in model.graph.node:
        if node.op_type in ("Cast", "Identity") and set(node.input) <= as_is:
            as_is.update(node.output)
        if node.op_type not in ("TreeEnsembleClassifier", "TreeEnsembleRegressor") or not set(node.input) <= as_is:
            continue
        attributes = {attribute.name: attribute for attribute in node.attribute}
        if "nodes_values" not in attributes:
            continue
        found = True
        columns, values, modes = (attributes[f"nodes_{name}"] for name in ("featureids", "values", "modes"))
        for column, value, mode in zip(columns.ints, values.floats, modes.strings, strict=False):
            if mode != b"LEAF" and 0 <= column < width:
                splits[column].append(value)
    return [np.array(points) for points in splits] if found else None


def _is_encoded(layout: Layout, codec: FeatureCodec) -> bool:
    """Whether raw columns are the encoded ones, such as those of flags."""
    return all(
        column.is_plain
        or (column.numbers is None and (codec.low[column.place], codec.scale[column.place]) == (0.0, 1.0))
        or (
            column.numbers is not None
            and codec.features[column.feature].levels is not None
            and column.numbers.tolist() == [0.0, 1.0]
        )
        for column in layout.columns
    )


def _highest(thresholds: NDArray[np.float32]) -> Floats:
    """The largest float64 that, as a float32, is at most each threshold: half way to the next, or just below that."""
    above = np.nextafter(thresholds, np.float32(np.inf)).astype(np.float64)
    middle = np.asarray((thresholds.astype(np.float64) + above) / 2.0)
    is_even = thresholds.view(np.int32) & 1 == 0
    return np.where(is_even, middle, np.nextafter(middle, -np.inf))
