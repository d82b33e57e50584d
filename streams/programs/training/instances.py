"""The rows of a program's data that may be its recourse instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ....agents.goals import accepted
from ....agents.scores import digits_apart, rounded_down
from ....schemas.encoding import FeatureCodec
from ....schemas.events import Value
from ....schemas.table import Table
from ...errors import UsageError
from ..models.scoring import DecisionModel
from .label_fit import clearly, fit_of

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def usable_rows(
    csv: Path, codec: FeatureCodec, table: Table, model: DecisionModel, rows: Indices
) -> Sequence[Mapping[str, Value]]:
    """The rows, of some ``rows``, that the model accepts and that violate no constraint of the program.

    Raises ``UsageError`` when there are none.
    """
    threshold, scores = codec.spec.model.threshold, model.score(table.X[rows])
    approved = accepted(scores, threshold)
    kept = [row for row in (table.rows[at] for at in rows[approved].tolist()) if codec.violated_constraint(row) is None]
    if not kept and approved.any():
        raise UsageError(
            f"{csv}: each of the {approved.sum()} rows that the model accepts breaks a constraint of the spec, so none "
            "can be a recourse instance: correct the constraints, or give more data"
        )
    if not kept:
        raise UsageError(f"{csv}: {_none_accepted(scores, table.labels[rows], threshold)}")
    return kept


def _none_accepted(scores: Floats, labels: NDArray[np.int64], threshold: float) -> str:
    """Why a model accepts nobody. A lower threshold is no advice where its scores (n,) do not go with the labels."""
    fault = f"the model accepts none of the {len(scores)} rows set aside as recourse instances"
    highest = float(scores.max())
    if fit_of(scores, labels).auc < 0.5 + clearly(labels):
        return (
            f"{fault}, and its scores do not go with their labels: give more data, or features that tell people apart"
        )
    shown = rounded_down(highest, digits_apart(highest, threshold))
    return f"{fault}, their highest score is {shown}: lower model.threshold ({threshold}) below it, or give more data"
