"""The model of an ONNX file: what its input holds, how it is scored, and whether its scores go with the labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from ....agents.scores import digits_apart, rounded_down
from ....agents.trees import TreeSum
from ....schemas.encoding import FeatureCodec
from ....schemas.table import Table
from ...errors import ModelError, one_line
from ..bundle.model_files import read_local
from ..models.row_independence import keeps_rows_apart
from ..onnx.check import parse_onnx
from ..onnx.inputs import difference, features_lacking
from ..onnx.matrix import Layout, Stated
from ..onnx.model import OnnxModel, independent_model
from ..onnx.outputs import desired_class, with_one_output
from ..onnx.score import DIGITS, FLOAT32_ROUNDING, MatrixColumns
from ..onnx.trees import flattened
from .label_fit import clearly, fit_of
from .matrix_columns import matrix_columns

if TYPE_CHECKING:
    from onnx import ModelProto

Floats = NDArray[np.float64]

CHECKED_ROWS = 2000
"""Rows on which flattened trees must score as onnxruntime does."""


class Importer:
    """Makes models of files, for the data of one import: the retrains as the model."""

    def __init__(self, codec: FeatureCodec, table: Table, probabilities: str | None) -> None:
        self._codec, self._table, self._probabilities = codec, table, probabilities
        self._matrix: MatrixColumns | UnsetType = UNSET

    def model(
        self, file: Path, content: bytes, columns: Stated | None, tell: Callable[[str], None]
    ) -> TreeSum | OnnxModel:
        """The model of a file, whose scores of the table are probabilities of the desired class.

        ``tell`` is given a line where it was found out what the columns of its matrix are.
        """
        with _refusing(file):
            parsed, column, name = self._read(content)
            found = matrix_columns(parsed, column, self._codec, self._table.X, self._table.labels, columns)
            self._matrix = found.matrix
            model = self._scored(parsed, column, name)
        if found.words is not None:
            tell(f"{file}: {found.words}")
        return model

    def retrain(self, file: Path, model: TreeSum | OnnxModel) -> TreeSum | OnnxModel:
        """A retrain of the model, of its kind and over its columns."""
        flat = isinstance(model, TreeSum)
        with _refusing(file):
            retrain = self._scored(*self._read(read_local(file)), flatten=flat)
        if flat != isinstance(retrain, TreeSum):
            raise ModelError(f"{file}: it is not a tree ensemble like the model: give retrains of the same classifier")
        return retrain

    def _read(self, content: bytes) -> tuple[ModelProto, int, str]:
        """The model of a file with one output, the position of the desired class, and its name."""
        parsed = parse_onnx(content)
        column, name = desired_class(parsed, self._codec.spec.label.desired)
        with_one_output(parsed, self._probabilities)
        return parsed, column, name

    def _scored(self, parsed: ModelProto, column: int, name: str, *, flatten: bool = True) -> TreeSum | OnnxModel:
        model = onnx_model(parsed, column, self._codec, self._table.X, self._matrix, flatten=flatten)
        _check_scores(model.score(self._table.X), self._table.labels, name)
        return rounded(model)


def rounded(model: TreeSum | OnnxModel) -> TreeSum | OnnxModel:
    """A model whose scores are rounded to the digits that float32 is good for."""
    if isinstance(model, TreeSum):
        return replace(model, digits=DIGITS)
    model.round_scores()
    return model


@contextmanager
def _refusing(file: Path) -> Iterator[None]:
    """Raise ``ModelError`` that names the file in place of ValueError."""
    try:
        yield
    except ValueError as error:
        raise ModelError(f"{file}: {one_line(error)}") from None


def _check_scores(scores: Floats, labels: NDArray[np.int64], desired: str) -> None:
    """Raise ValueError for scores that are no probabilities of the ``desired`` class, as it is called."""
    low, high = float(scores.min()), float(scores.max())
    if not (low >= -FLOAT32_ROUNDING and high <= 1.0 + FLOAT32_ROUNDING):
        raise ValueError(f"its scores of the data go from {low:g} to {high:g}; a model gives probabilities")
    if low == high:
        raise ValueError(f"it gives every row of the data the score {low:g}")
    good, bad = scores[labels == 1], scores[labels == 0]
    if len(good) and len(bad) and good.mean() < bad.mean():
        raise ValueError(_wrong_order(good, bad, fit_of(scores, labels).auc, clearly(labels), desired))


def _wrong_order(good: Floats, bad: Floats, auc: float, margin: float, desired: str) -> str:
    """Why scores do not go with the labels: classes that are exchanged order people as well as the right ones do."""
    means = float(good.mean()), float(bad.mean())
    wanted, others = (rounded_down(mean, digits_apart(*means)) for mean in means)
    scores = f"rows with the desired label have a mean score of {wanted}, the others of {others}"
    if auc <= 0.5 - margin:
        return f"{scores}: its classes are the other way round; fit it with the desired outcome as class {desired}"
    return (
        f"{scores}, and it orders them as chance does (area under the curve {auc:.2f}): it is not of these data; give "
        "rows and columns like those that it was fitted on"
    )


def onnx_model(
    parsed: ModelProto,
    column: int,
    codec: FeatureCodec,
    X: Floats,
    matrix: MatrixColumns | UnsetType = UNSET,
    *,
    flatten: bool = True,
) -> TreeSum | OnnxModel:
    """The model of an ONNX file with one output, checked on encoded rows ``X`` (n, D); scores are not rounded yet.

    ``column`` is the position of the desired class, and ``matrix`` says what the columns of a single input are. One
    tree ensemble over a matrix becomes a ``TreeSum``, when its scores are those of onnxruntime, unless ``flatten`` is
    false. Raises ValueError with the reason when the file is refused.
    """
    model = independent_model(parsed, column, codec.dimension, codec, X, matrix)
    if model.features is not None and features_lacking(model.features, codec.spec.features):
        raise ValueError(difference(model.features, codec.spec.features))
    layout = None if isinstance(matrix, UnsetType) else Layout(matrix, codec)
    trees = flattened(parsed, column, codec.dimension, layout) if flatten else None
    if trees is None or not _agree(trees, model, X[:CHECKED_ROWS]):
        return model
    return trees


def _agree(trees: TreeSum, model: OnnxModel, X: Floats) -> bool:
    return keeps_rows_apart(trees.score, X) and bool(np.abs(trees.score(X) - model.score(X)).max() <= FLOAT32_ROUNDING)
