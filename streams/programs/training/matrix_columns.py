"""What the columns of an imported model's matrix are: raw or encoded, found out by its splits and by labelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from ....schemas.encoding import FeatureCodec
from ..onnx.inputs import matrix_layouts, takes_features
from ..onnx.matrix import Layout, Stated, splits_of
from ..onnx.model import independent_model
from ..onnx.score import FLOAT32_ROUNDING, MatrixColumns
from .label_fit import CLEARLY, Fit, clearly, fit_of

if TYPE_CHECKING:
    from onnx import ModelProto

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


class FoundColumns(NamedTuple):
    """The columns of a matrix, unset for all encoded columns, and the ``words`` that say how they were found."""

    matrix: MatrixColumns | UnsetType = UNSET
    words: str | None = None


def matrix_columns(
    model: ModelProto, column: int, codec: FeatureCodec, X: Floats, labels: Labels, stated: Stated | None = None
) -> FoundColumns:
    """The columns of a model's only input; unset too where it has one input a feature.

    They are what is ``stated``, where the splits of trees allow it. Where several remain, the encoded
    rows ``X`` (n, D) are scored by each, and one must fit the ``labels`` (n,) clearly better. Raises ValueError where
    nothing fits, or nothing shows which.
    """
    # Of several inputs that are not the features `inputs_of` tells the difference.
    layouts = [] if takes_features(model, codec.spec.features) else matrix_layouts(model, codec)
    if not layouts:
        return FoundColumns()
    if isinstance(stated, tuple):
        layouts = [Layout(MatrixColumns(stated, raw=True), codec)]
    possible = _possible(model, layouts, stated)
    if len(possible) == 1:
        return _found(possible[0], codec, "nothing else fits their number, type and splits")
    return _fitting(model, column, codec, X, labels, possible)


def _found(layout: Layout, codec: FeatureCodec, why: str) -> FoundColumns:
    if _is_plain(layout, codec):
        return FoundColumns()
    return FoundColumns(layout.matrix, f"its matrix holds {_in_words(layout)}: {why}")


def _is_plain(layout: Layout, codec: FeatureCodec) -> bool:
    return layout.matrix == MatrixColumns(codec.columns, False)


def _possible(model: ModelProto, layouts: Sequence[Layout], stated: Stated | None) -> Sequence[Layout]:
    """The layouts that are stated and that the splits of the model's trees allow. Raises ValueError for none."""
    named = [layout for layout in layouts if _is_stated(layout, stated)]
    if not named:
        raise ValueError(f"its matrix cannot hold {stated} columns: it has another number, or another type, than these")
    splits = splits_of(model, len(named[0].columns))
    if splits is None:
        return named
    faults = [layout.disproof(splits) for layout in named]
    possible = [layout for layout, fault in zip(named, faults, strict=True) if fault is None]
    if not possible:
        of_each = "; ".join(f"{_in_words(layout)}: {fault}" for layout, fault in zip(named, faults, strict=True))
        raise ValueError(
            f"its matrix does not hold the columns of the spec ({of_each}): give it these columns in the order of the "
            "spec, or one input a feature"
        )
    return possible


def _is_stated(layout: Layout, stated: Stated | None) -> bool:
    if stated is None or isinstance(stated, tuple):
        return True
    return layout.matrix.raw == (stated == "raw") and layout.is_in_order


def _fitting(
    model: ModelProto, column: int, codec: FeatureCodec, X: Floats, labels: Labels, layouts: Sequence[Layout]
) -> FoundColumns:
    """The layout under which scores fit the labels clearly better than under the others."""
    scores = []
    for layout in layouts:
        matrix = UNSET if _is_plain(layout, codec) else layout.matrix
        scores.append(independent_model(model, column, codec.dimension, codec, X, matrix).score(X))
    if not any(map(_may_be_probabilities, scores)):
        return _found(layouts[0], codec, "none of those that it may hold gives probabilities")
    fits = [fit_of(layout_scores, labels) for layout_scores in scores]
    shown = "; ".join(f"as {_in_words(layout)} {fit}" for layout, fit in zip(layouts, fits, strict=True))
    best = _best(fits, clearly(labels))
    if best is None:
        raise ValueError(
            f"it does not say what the columns of its matrix are, and the rows do not tell it ({shown}): say it with "
            "--columns raw or --columns encoded where they stand in the order of the spec, with --columns and their "
            "names as here where they do not, or export one input a feature"
        )
    found = _found(layouts[best], codec, f"the labels say so ({shown})")
    return (
        found if found.words else FoundColumns(words=f"its matrix holds encoded columns: the labels say so ({shown})")
    )


def _may_be_probabilities(scores: Floats) -> bool:
    near = scores.clip(0.0, 1.0)
    return bool(np.abs(scores - near).max() <= FLOAT32_ROUNDING and scores.min() < scores.max())


def _best(fits: Sequence[Fit], margin: float) -> int | None:
    """The number of the fit that is clearly better than all others; None where there is none.

    An order that is the other way round is an order all the same. Where all have the same, probabilities count.
    """
    for best, fit in enumerate(fits):
        others = [other_fit for number, other_fit in enumerate(fits) if number != best]
        if all(_is_better(fit, other, margin) for other in others):
            return best
    return None


def _is_better(fit: Fit, other: Fit, margin: float) -> bool:
    ahead = abs(fit.auc - 0.5) - abs(other.auc - 0.5)
    return ahead >= margin or (abs(ahead) < margin and other.brier - fit.brier >= CLEARLY)


def _in_words(layout: Layout) -> str:
    """Which columns a layout has."""
    return f"{'raw' if layout.matrix.raw else 'encoded'} columns ({','.join(layout.matrix.names)})"
