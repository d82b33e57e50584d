"""The inputs of an ONNX model: one a feature with raw values, or one matrix of raw or encoded columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from ....schemas.encoding import FeatureCodec
from ....schemas.spec import Feature
from .matrix import Layout, layouts_of, numbers_in
from .score import MatrixColumns

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

Floats = NDArray[np.float64]
Feeds = dict[str, NDArray[Any]]

DECIMAL = ("float32", "float64")
WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
TEXT = "object"
"""The name that numpy gives to an array of texts."""
TRUTH = "bool"


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
    """One input (n, W): the columns of a ``layout``; without one all encoded columns."""

    name: str
    dtype: str
    one_by_one: bool
    layout: Layout | None

    @property
    def features(self) -> frozenset[str] | None:
        """The features that have a column; None for all."""
        return None if self.layout is None else self.layout.features

    def feeds(self, X: Floats) -> Feeds:
        """The matrix of encoded rows."""
        rows = X if self.layout is None else self.layout.rows(X)
        return {self.name: np.ascontiguousarray(rows, dtype=self.dtype)}


class InputColumn(NamedTuple):
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

    def __init__(self, columns: Mapping[int, InputColumn], codec: FeatureCodec, one_by_one: bool) -> None:
        self._columns, self._codec, self._one_by_one = columns, codec, one_by_one

    @property
    def features(self) -> frozenset[str]:
        """The features that have an input."""
        return frozenset(column.name for column in self._columns.values())

    @property
    def one_by_one(self) -> bool:
        """Whether the model takes a single row at a time."""
        return self._one_by_one

    def feeds(self, X: Floats) -> Feeds:
        """The raw values of encoded rows."""
        codes = self._codec.codes(X)
        return {column.name: column.values(codes[:, index]) for index, column in self._columns.items()}


def inputs_of(
    model: ModelProto, columns: int, codec: FeatureCodec | None, matrix: MatrixColumns | UnsetType = UNSET
) -> Inputs:
    """The inputs of a model for ``columns`` encoded columns; without a codec it must take a matrix of them.

    ``matrix`` says what the columns of a matrix are, where they are not all encoded ones. A model may have no input for
    a feature: spec and protection may have changed since it was imported. Raises ValueError, which names the input,
    where they are not those of the program.
    """
    inputs, features = _entries(model), () if codec is None else codec.spec.features
    if codec is not None and takes_features(model, features):
        taken = [(index, feature) for index, feature in enumerate(features) if feature.name in inputs]
        columns_of = {index: _column(inputs[feature.name], feature) for index, feature in taken}
        return RawFeatures(columns_of, codec, _one_by_one(list(inputs.values())))
    if len(inputs) == 1:
        (entry,) = inputs.values()
        return _matrix(entry, columns, codec, matrix)
    if codec is None:
        raise ValueError("it takes one input a feature: give the program's spec, so that they can be compared")
    raise ValueError(difference(inputs, features))


def takes_features(model: ModelProto, features: Sequence[Feature]) -> bool:
    """Whether a model has one input a feature."""
    inputs = _entries(model)
    is_whole = not features_lacking(inputs, features)
    return bool(inputs) and set(inputs) <= {feature.name for feature in features} and (is_whole or len(inputs) > 1)


def matrix_layouts(model: ModelProto, codec: FeatureCodec) -> list[Layout]:
    """What the columns of a model's only input may be, by their number and type; nothing where it has several inputs.

    Raises ValueError, which names the input, where they can be none of the program's.
    """
    inputs = list(_entries(model).values())
    if len(inputs) != 1:
        return []
    (entry,) = inputs
    dtype, shape = _type(entry)
    if dtype not in (*DECIMAL, *WHOLE):
        raise ValueError(f"input {entry.name} takes {_called(dtype)}; {_MATRIX_TYPES}")
    layouts = list(layouts_of(codec))
    width = shape[1] if len(shape) == 2 else 0
    fitting = [layout for layout in layouts if width in (None, len(layout.columns))] if width != 0 else []
    if not fitting:
        raise ValueError(_wrong_shape(entry, codec.dimension, codec, layouts))
    if dtype in WHOLE and not (fitting := [layout for layout in fitting if layout.is_whole]):
        raise ValueError(f"input {entry.name} takes {_called(dtype)}; {_MATRIX_TYPES}")
    return fitting


_MATRIX_TYPES = "a matrix is of float or double, or of integers where all of its raw columns are"


def texts_of(features: Sequence[Feature]) -> list[str]:
    """All texts that features may have as values."""
    return [text for feature in features for text in feature.levels or feature.categories or ()]


def _matrix(
    entry: ValueInfoProto, columns: int, codec: FeatureCodec | None, matrix: MatrixColumns | UnsetType
) -> Matrix:
    dtype, shape = _type(entry)
    if isinstance(matrix, UnsetType):
        layout, width = None, columns
    elif codec is None:
        raise ValueError("its columns are those of features: give the program's spec, so that they can be read")
    else:
        layout, width = Layout(matrix, codec), len(matrix.names)
    if dtype not in DECIMAL and not (dtype in WHOLE and layout is not None and layout.is_whole):
        raise ValueError(f"input {entry.name} takes {_called(dtype)}; {_MATRIX_TYPES}")
    if len(shape) != 2 or shape[1] not in (None, width):
        raise ValueError(_wrong_shape(entry, width, codec, [] if layout is None else [layout]))
    return Matrix(entry.name, dtype, _one_by_one([entry]), layout)


def _wrong_shape(entry: ValueInfoProto, columns: int, codec: FeatureCodec | None, layouts: Sequence[Layout]) -> str:
    """The message where a matrix has as many columns as nothing of the program's."""
    form = ", ".join("n" if size is None else str(size) for size in _type(entry)[1])
    widths = sorted({columns, *(len(layout.columns) for layout in layouts)})
    texts = [feature.name for feature in (codec.spec.features if codec else ()) if _is_of_texts(feature)]
    of_texts = f" ({', '.join(texts)} has texts, of which a raw matrix holds a column each)" if texts else ""
    return (
        f"input {entry.name} is of shape ({form}), not (n, {' or '.join(map(str, widths))}): give it the columns of "
        f"the spec, encoded or raw{of_texts}, or one input a feature"
    )


def _is_of_texts(feature: Feature) -> bool:
    return feature.categories is not None and numbers_in(feature.categories) is None


def _column(entry: ValueInfoProto, feature: Feature) -> InputColumn:
    dtype, shape = _type(entry)
    if len(shape) not in (1, 2) or (len(shape) == 2 and shape[1] not in (None, 1)):
        raise ValueError(f"input {entry.name} has more than one value a row; a feature is one, of shape (n, 1)")
    texts = feature.levels or feature.categories
    allowed = (*DECIMAL, *WHOLE) if feature.type == "integer" else DECIMAL
    if dtype == TRUTH and feature.type == "integer" and feature.bounds == (0, 1):
        allowed = (*allowed, TRUTH)
    if texts is None and dtype in allowed:
        return InputColumn(entry.name, dtype, len(shape), None)
    if texts is not None:
        table = _table(texts, dtype)
        if table is not None:
            return InputColumn(entry.name, dtype, len(shape), table)
    raise ValueError(f"input {entry.name} takes {_called(dtype)}, feature {feature.name} of the spec is {feature.type}")


def _table(texts: Sequence[str], dtype: str) -> NDArray[Any] | None:
    """The texts as a model takes them: as texts, or as the numbers or truth values that they are; None for others."""
    if dtype == TEXT:
        return np.array(texts, dtype=object)
    numbers = numbers_in(texts) if dtype in (*DECIMAL, *WHOLE, TRUTH) else None
    if numbers is None:
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
    return {TEXT: "texts", TRUTH: "truth values"}.get(dtype, dtype)


def _entries(model: ModelProto) -> dict[str, ValueInfoProto]:
    """The inputs of a model by their names."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return {entry.name: entry for entry in model.graph.input if entry.name not in constants}


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
