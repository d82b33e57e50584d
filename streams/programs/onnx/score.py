"""How a model in ONNX is scored, as the manifest of its bundle says it."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

DIGITS = 5
"""The significant digits of an imported model's scores.

Models in ONNX add float32, so that what their sender has as a tie comes out some millionths beside it, and a
probability of 1 above it. A rounded score is above a threshold of as many digits only where it is by more than that."""
FLOAT32_ROUNDING = 1e-5
"""How far sums of float32 may be from those of float64."""


class MatrixColumns(Struct, frozen=True, forbid_unknown_fields=True):
    """What the columns of a model's only input are, in order, by the names of features and of encoded columns.

    Where they are ``raw``, a feature's column holds its value: the number, that of a level or category that is one,
    else the rank of a level, which begins with 0. Otherwise all are encoded columns.
    """

    names: tuple[str, ...]
    raw: bool


class OnnxScore(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How onnxruntime scores an ONNX model.

    ``column`` is the position of the desired class among two. ``rows`` is the size of every batch. ``digits`` is the
    number of significant digits to which scores are rounded; bundles of older versions round none. ``matrix`` says what
    the columns of a model with a single input are, where they are not all encoded ones.
    """

    column: Annotated[int, Meta(ge=0, le=1)]
    rows: Annotated[int, Meta(ge=1, le=1024)]
    digits: Annotated[int, Meta(ge=1, le=9)] | UnsetType = UNSET
    matrix: MatrixColumns | UnsetType = UNSET
