"""A model that was fitted to the rows of a program's table, and what each of these rows is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from ....agents.goals import accepted
from ....schemas.encoding import FeatureCodec
from ....schemas.events import Value
from ....schemas.specfile import LoadedSpec
from ....schemas.table import Table
from ..models.scoring import DecisionModel
from .resampled import Samples
from .share_calibration import ShareMeasurement
from .unsaved_program import Indices, Score


class Split(NamedTuple):
    """What the rows of a table are for, by their numbers.

    The ``population`` is kept, as far as it is needed. The ``helping`` rows teach whether changes help, which the
    ``held_out`` ones measure. Of ``recourse``, those that the model accepts may become instances, and the others show
    what people are served. The model was not fitted on the ``unseen`` rows, and is ``judged`` on some of them.
    """

    population: Indices
    helping: Indices
    held_out: Indices
    recourse: Indices
    unseen: Indices
    judged: Indices


class Trained(NamedTuple):
    """A ``model`` of a program's table, which is written as the ``estimator``, with some ``facts``.

    ``refit`` are the scores of models of other rows, by which a margin is measured; it is given the ``samples``, where
    these were made before. ``share`` is what the verdict of retrains is worth.
    """

    csv: Path
    loaded: LoadedSpec
    table: Table
    codec: FeatureCodec
    model: DecisionModel
    estimator: Any
    split: Split
    refit: Callable[[Samples | None], Sequence[Score]]
    samples: Callable[[], Samples]
    share: Callable[[], ShareMeasurement] = lambda: ShareMeasurement(UNSET, {})
    facts: Mapping[str, float] = {}

    def approves(self, rows: Indices) -> NDArray[np.bool_]:
        """Which of the rows the model approves."""
        return accepted(self.model.score(self.table.X[rows]), self.loaded.spec.model.threshold)

    def raw(self, rows: Indices) -> list[Mapping[str, Value]]:
        """The rows as they stand in the data."""
        return [self.table.rows[row] for row in rows]
