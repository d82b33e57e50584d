"""The inputs of an ONNX model: one a feature with raw values, or one matrix of encoded columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ....schemas.encoding import FeatureCodec
from ....schemas.spec import Feature

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

Floats = NDArray[np.float64]
Feeds = dict[str, NDArray[Any]]

DECIMAL = ("float32", "float64")
WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
TEXT = "object"
"""The name that numpy gives to an array of texts."""


class Inputs(Protocol):
    """Turns encoded rows into what a model takes."""

    @property
    def one_by_one(self) -> bool:
        """Whether the model takes a single row at a time."""

    @property
    def features(self) -> frozenset[str] | None:
        """The names of the features that the model takes; None where it takes all columns."""

    def feeds(self, X: Floats) -> Feeds:
        """The arrays by input, each with n rows, of encoded rows (n, D)."""


class Matrix(NamedTuple):
    """One input (n, D): the encoded columns."""

    name: str
    dtype: str
    one_by_one: bool

    @property
    def features(self) -> None:
        """All of them."""

    def feeds(self, X: Floats) -> Feeds:
        """The encoded rows themselves."""
        return {self.name: np.ascontiguousarray(X, dtype=self.dtype)}


class Column(NamedTuple):
    """One input of ``dimensions`` 1 or 2, with the raw values of a feature; ``table`` holds its texts by their code."""

    name: str
    dtype: str
    dimensions: int
    table: NDArray[Any] | None

    def values(self, codes: Floats) -> NDArray[Any]:
        """The raw values, (n,) or (n, 1), of a feature's codes (n,)."""
        column = codes.astype(self.dtype) if self.table is None else self.table[codes.astype(np.intp)]
        return column if self.dimensions == 1 else column[:, np.newaxis]


class RawFeatures:
    """One input a feature, by the features' positions in the spec."""

    def __init__(self, columns: Mapping[int, Column], codec: FeatureCodec, one_by_one: bool) -> None:
        self._columns, self._codec, self._one_by_one = columns, codec, one_by_one

    @property
    def features(self) -> frozenset[str]:
        """Those that have an input."""
        return frozenset(column.name for column in self._columns.values())

    @property
    def one_by_one(self) -> bool:
        """Whether the model takes a single row at a time."""
        return self._one_by_one

    def feeds(self, X: Floats) -> Feeds:
        """The raw values of encoded rows."""
        codes = self._codec.codes(X)
        return {column.name: column.values(codes[:, index]) for index, column in self._columns.items()}


def inputs_of(model: ModelProto, columns: int, codec: FeatureCodec | None) -> Inputs:
    """The inputs of a model for ``columns`` encoded columns; without a codec it must take a matrix.

    A model may have no input for a feature: spec and protection may have changed since it was imported.
    Raises ValueError, which names the input, when they are not those of the program.
    """
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = {entry.name: entry for entry in model.graph.input if entry.name not in constants}
    features = () if codec is None else codec.spec.features
    names = [feature.name for feature in features]
    is_whole = not features_lacking(inputs, features)
    if codec is not None and inputs and set(inputs) <= set(names) and (is_whole or len(inputs) > 1):
        taken = [(index, feature) for index, feature in enumerate(features) if feature.name in inputs]
        columns_of = {index: _column(inputs[feature.name], feature) for index, feature in taken}
        return RawFeatures(columns_of, codec, _one_by_one(list(inputs.values())))
    if len(inputs) == 1:
        (entry,) = inputs.values()
        return _matrix(entry, columns)
    if codec is None:
        raise ValueError("it takes one input a feature: give the program's spec, so that they can be compared")
    raise ValueError(difference(inputs, features))


def texts_of(features: Sequence[Feature]) -> list[str]:
    """All texts that features may have as values."""
    return [text for feature in features for text in feature.levels or feature.categories or ()]


def _matrix(entry: ValueInfoProto, columns: int) -> Matrix:
    dtype, shape = _type(entry)
    if dtype not in DECIMAL:
        raise ValueError(f"input {entry.name} takes {_called(dtype)}; a matrix of encoded columns is float or double")
    if len(shape) != 2 or shape[1] not in (None, columns):
        form = ", ".join("n" if size is None else str(size) for size in shape)
        raise ValueError(
            f"input {entry.name} is of shape ({form}), not (n, {columns}): give it the encoded columns of the spec, or "
            "one input a feature"
        )
    return Matrix(entry.name, dtype, _one_by_one([entry]))


def _column(entry: ValueInfoProto, feature: Feature) -> Column:
    dtype, shape = _type(entry)
    if len(shape) not in (1, 2) or (len(shape) == 2 and shape[1] not in (None, 1)):
        raise ValueError(f"input {entry.name} has more than one value a row; a feature is one, of shape (n, 1)")
    texts = feature.levels or feature.categories
    allowed = (*DECIMAL, *WHOLE) if feature.type == "integer" else DECIMAL
    if texts is None and dtype in allowed:
        return Column(entry.name, dtype, len(shape), None)
    if texts is not None:
        table = _table(texts, dtype)
        if table is not None:
            return Column(entry.name, dtype, len(shape), table)
    raise ValueError(f"input {entry.name} takes {_called(dtype)}, feature {feature.name} of the spec is {feature.type}")


def _table(texts: Sequence[str], dtype: str) -> NDArray[Any] | None:
    """The texts as a model takes them: as texts, or as the numbers that they are; None where they are none."""
    if dtype == TEXT:
        return np.array(texts, dtype=object)
    if dtype not in (*DECIMAL, *WHOLE):
        return None
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        return None
    table = numbers.astype(dtype)
    return table if (table == numbers).all() or dtype in DECIMAL else None


def _type(entry: ValueInfoProto) -> tuple[str, list[int | None]]:
    """The numpy name of an input's type, and its shape with None for what is open."""
    from onnx.helper import tensor_dtype_to_np_dtype

    tensor = entry.type.tensor_type
    if not entry.type.HasField("tensor_type") or not tensor.elem_type:
        raise ValueError(f"input {entry.name} is not a tensor")
    shape = [size.dim_value if size.HasField("dim_value") and size.dim_value > 0 else None for size in tensor.shape.dim]
    if not tensor.HasField("shape"):
        raise ValueError(f"input {entry.name} has no shape")
    return tensor_dtype_to_np_dtype(tensor.elem_type).name, shape


def _called(dtype: str) -> str:
    return "texts" if dtype == TEXT else dtype


def _one_by_one(inputs: Sequence[ValueInfoProto]) -> bool:
    """Whether the number of rows is fixed to 1. Raises ValueError for another fixed number."""
    sizes = {size for size in (_type(entry)[1][0] for entry in inputs) if size is not None}
    if sizes - {1}:
        raise ValueError(f"it takes exactly {max(sizes)} rows at a time: export it with an open number of rows")
    return bool(sizes)


def features_lacking(inputs: Collection[str], features: Sequence[Feature]) -> list[str]:
    """The features, but for protected ones, that are not among a model's inputs."""
    return [feature.name for feature in features if not feature.protected and feature.name not in inputs]


def difference(inputs: Collection[str], features: Sequence[Feature]) -> str:
    """The message where a model's inputs are not the features of the spec."""
    missing, names = features_lacking(inputs, features), [feature.name for feature in features]
    surplus = [name for name in inputs if name not in names]
    parts = [f"{verb} {', '.join(names)}" for verb, names in (("lack", missing), ("add", surplus)) if names]
    return f"its inputs are not the features of the spec: they {' and '.join(parts)}"
