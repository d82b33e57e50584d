"""Models of other samples of the data: those that stand beside a new model, and those that judge its options."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....schemas.spec import ProgramSpec
from ..limited_places import closes_rounds
from ..models.scoring import DecisionModel, score_of_options
from ..promised import needs_retrains
from .margin import Tell
from .retrains import MOST_DRAWN, fit_retrains
from .unsaved_program import Floats, Score

JUDGES = 6
"""Models that are asked about options; no option was chosen by them."""


class ModelSamples(NamedTuple):
    """A model, and models of other samples of the data.

    ``retrains`` are to stand beside it. Options may be chosen by ``choosing``, and are judged by ``judges``.
    """

    model: DecisionModel
    retrains: Sequence[DecisionModel]
    choosing: Sequence[DecisionModel]
    judges: Sequence[DecisionModel]

    def judge_scores(self) -> list[Score]:
        """The scores of the judges."""
        return [score_of_options(judge.score) for judge in self.judges]

    @classmethod
    def given(cls, spec: ProgramSpec, model: DecisionModel, retrains: Sequence[DecisionModel]) -> ModelSamples:
        """Those of a model that cannot be fitted again, with the retrains that came with it.

        Where its options should last under all of these, none is left to judge.
        """
        if spec.policy.lasting is not None:
            return cls(model, retrains, retrains, ())
        return cls(model, retrains, retrains[::2], retrains[1::2][:JUDGES])


class Resampled(NamedTuple):
    """Fits an ``estimator``, which ``fitted_on`` of the rows X (n, D) with labels (n,) have fitted, on resamples.

    Those of retrains are drawn by ``random``, those of the models that judge by ``judging``.
    """

    estimator: Any
    X: Floats
    labels: NDArray[np.int64]
    fitted_on: int
    random: np.random.RandomState
    judging: np.random.RandomState

    def samples(self, spec: ProgramSpec, model: DecisionModel, count: int, tell: Tell) -> ModelSamples:
        """The samples of a model beside which ``count`` retrains are to stand.

        Every second one of a promise's certifies its options, and may judge them here too. What lasts is not asked
        where places are limited.
        """
        retrains = self._retrains(spec, count, tell) if count else []
        if closes_rounds(spec):
            return ModelSamples(model, retrains, (), ())
        if needs_retrains(spec):
            return ModelSamples.given(spec, model, retrains)
        # What is measured does not depend on how many retrains somebody has asked for.
        choosing = retrains if spec.policy.lasting is not None else []
        missing = 0 if choosing else JUDGES
        tell(f"fitting {missing + JUDGES} models on resamples of the data, to see how many options last")
        again = self._replace(random=self.judging)._fitted(missing + JUDGES, MOST_DRAWN)
        return ModelSamples(model, retrains, choosing or again[JUDGES:], again[:JUDGES])

    def _retrains(self, spec: ProgramSpec, count: int, tell: Tell) -> list[DecisionModel]:
        needed = needs_retrains(spec)
        purpose = "to measure the promise" if needed else "which should accept options too"
        tell(f"fitting {count} more models on resamples of the data, {purpose}")
        return self._fitted(count, sys.maxsize if needed else MOST_DRAWN)

    def _fitted(self, count: int, most: int) -> list[DecisionModel]:
        return fit_retrains(self.estimator, self.X, self.labels, count, self.fitted_on, self.random, most)
