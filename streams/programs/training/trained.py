"""A new model of a program and what follows from it and its rows: fitted here, or read from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ....agents.goals import accepted
from ....agents.improvement import TrainedImprovement
from ....agents.promises import Promise
from ....schemas.encoding import FeatureCodec
from ....schemas.events import Value
from ....schemas.spec import ProgramSpec
from ....schemas.specfile import LoadedSpec
from ....schemas.table import Table
from ..models.scoring import DecisionModel, score_of_options
from ..promised import measured_promise
from .effects import FittedEffects, fit_effects
from .improvement import fit_improvement
from .instances import usable_rows
from .margin import WantedMargin, wanted_margin
from .resampled import ModelSamples
from .row_uses import RowUses
from .sample import RejectedSample
from .share_calibration import ShareMeasurement
from .unlabelled_rows import others_beside, population_rows, with_rejected
from .unsaved_program import Floats, Indices, Score, UnsavedProgram, unsaved_program


@dataclass(frozen=True, eq=False)
class Trained:
    """A ``model`` of a program's table, which is written as the ``estimator``, and what is made of both when asked for.

    ``refit`` gives the scores of models of other rows, by which a margin is measured; it is given the samples, where
    these were made before. ``resample`` makes the samples. ``measure_share`` says what the verdict of retrains is
    worth, and ``version`` names the model with it. These draw random numbers from one stream, in one order, whatever is
    asked for first.
    """

    csv: Path
    loaded: LoadedSpec
    table: Table
    codec: FeatureCodec
    model: DecisionModel
    estimator: Any
    split: RowUses
    seed: int
    refit: Callable[[ModelSamples | None], Sequence[Score]]
    resample: Callable[[], ModelSamples]
    measure_share: Callable[[], ShareMeasurement] = lambda: ShareMeasurement(UNSET, None)
    version: Callable[[ShareMeasurement], str] = lambda _: "unnamed"
    goal_policy: bytes | None = None
    training_rows: int | None = None

    @property
    def spec(self) -> ProgramSpec:
        """The spec of its program."""
        return self.loaded.spec

    def approves(self, X: Floats) -> NDArray[np.bool_]:
        """Which of the rows (n, D) the model approves."""
        return np.asarray(accepted(self.model.score(X), self.spec.model.threshold))

    def raw(self, rows: Indices) -> list[Mapping[str, Value]]:
        """The rows as they stand in the data."""
        return [self.table.rows[row] for row in rows]

    @cached_property
    def usable(self) -> Sequence[Mapping[str, Value]]:
        """The rows that may be recourse instances; raises ``UsageError`` when there are none."""
        return usable_rows(self.csv, self.codec, self.table, self.model, self.split.recourse)

    @cached_property
    def instances(self) -> Sequence[Mapping[str, Value]]:
        """The recourse instances that are kept."""
        return self.usable[: self.spec.candidates]

    @cached_property
    def following(self) -> FittedEffects:
        """The fitted effects of changes."""
        return fit_effects(self.csv, self.spec, self.table, self.split.population)

    @cached_property
    def population(self) -> list[Mapping[str, Value]]:
        """Raw rows that say what people are like."""
        return population_rows(self.table, self.split.population, self.seed)

    @cached_property
    def improvement(self) -> TrainedImprovement | None:
        """The prior of whether changes help; None where there is none."""
        rows, table = self.split.helping, self.table
        with threadpool_limits(1):
            others = others_beside(table, len(rows))
            return fit_improvement(self.spec, table.X[rows], table.labels[rows], self.seed, others)

    @cached_property
    def samples(self) -> ModelSamples:
        """Models of other samples of the rows."""
        if not self._is_asked_of_samples:
            _ = self.margin  # which draws before
        return self.resample()

    @cached_property
    def program(self) -> UnsavedProgram:
        """The program that makes options with this model."""
        unsaved = unsaved_program(
            self.codec, self.model.score, self.instances, self.population, self.improvement, self.following.effects
        )
        if not self._is_asked_of_samples:
            return unsaved
        return unsaved._replace(retrains=[score_of_options(other.score) for other in self.samples.retrains])

    @cached_property
    def margin(self) -> WantedMargin:
        """The margin that the spec leaves to training."""
        unsaved = self.program
        samples = self.samples if self._is_asked_of_samples else None
        return wanted_margin(self.spec, unsaved, partial(self.refit, samples), self.rejected)

    @property
    def _is_asked_of_samples(self) -> bool:
        """Whether options are chosen or margins measured by the samples."""
        return self.spec.policy.objective != "cost" or self.spec.policy.lasting is not None

    @cached_property
    def share(self) -> ShareMeasurement:
        """The measured worth of the retrains' verdict."""
        _ = self.margin, self.samples  # which draw before
        return self.measure_share()

    @cached_property
    def promise(self) -> Promise:
        """The spec's promise, measured."""
        return measured_promise(self.spec.promise, self.model, self.samples.retrains, self.share.calibration)

    @cached_property
    def rejected(self) -> Floats:
        """Encoded people (n, D) whom the model rejects, of the rows set aside for recourse."""
        return self._rejected_of(self.split.recourse)

    @cached_property
    def unseen_rejected(self) -> Floats:
        """Encoded people (n, D) whom the model rejects, of all rows that it was not fitted on."""
        return self._rejected_of(self.split.unseen)

    def _rejected_of(self, rows: Indices) -> Floats:
        X = self.table.X[rows]
        return with_rejected(self.table, self.approves, X[~self.approves(X)])

    @cached_property
    def sample(self) -> RejectedSample | None:
        """The options of the first rejected people; None where nobody is rejected."""
        if not len(self.rejected):
            return None
        return RejectedSample.from_people(self.spec, self.program, self.margin.margin, self.promise, self.rejected)
