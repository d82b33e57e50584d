"""Models of other samples of the data: those that stand beside a new model, and those that judge its options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....schemas.spec import ProgramSpec
from ..limited_places import closes_rounds
from ..models.scoring import DecisionModel
from ..promised import needs_retrains
from .margin import RETRAINED
from .retrains import MOST_DRAWN, fit_retrains
from .unsaved_program import Floats, Score

Tell = Callable[[str], None]

JUDGES = 6
"""Models that are asked about options; no option was chosen by them."""


class Samples(NamedTuple):
    """A model, and models of other samples of the data: those by which options may be ``choosing``, and ``judges``."""

    model: DecisionModel
    choosing: Sequence[DecisionModel]
    judges: Sequence[DecisionModel]


class Resampled(NamedTuple):
    """Fits an ``estimator``, which ``fitted_on`` of the rows X (n, D) with labels (n,) have fitted, on resamples."""

    estimator: Any
    X: Floats
    labels: NDArray[np.int64]
    fitted_on: int
    random: np.random.RandomState

    def retrains(self, spec: ProgramSpec, count: int, tell: Tell) -> Sequence[DecisionModel]:
        """Those that stand beside the model: as many as its promise, or options that should last, need."""
        if not count:
            return ()
        needed = needs_retrains(spec)
        purpose = "to measure the promise" if needed else "which should accept options too"
        tell(f"fitting {count} more models on resamples of the data, {purpose}")
        return self._fitted(count, sys.maxsize if needed else MOST_DRAWN)

    def scores(self) -> list[Score]:
        """The scores of models by which a margin is measured."""
        return [each.score for each in self._fitted(RETRAINED, MOST_DRAWN)]

    def samples(
        self, spec: ProgramSpec, model: DecisionModel, retrains: Sequence[DecisionModel], tell: Tell
    ) -> Samples:
        """The samples of a model with its ``retrains``: of a promise's every second one certifies, and may judge."""
        if closes_rounds(spec):
            return Samples(model, (), ())
        if needs_retrains(spec):
            return Samples(model, retrains[::2], retrains[1::2][:JUDGES])
        choosing = 0 if retrains else JUDGES
        tell(f"fitting {choosing + JUDGES} models on resamples of the data, to see how many options last")
        again = self._fitted(choosing + JUDGES, MOST_DRAWN)
        return Samples(model, retrains or again[JUDGES:], again[:JUDGES])

    def _fitted(self, count: int, most: int) -> list[DecisionModel]:
        return fit_retrains(self.estimator, self.X, self.labels, count, self.fitted_on, self.random, most)


def samples_given(spec: ProgramSpec, model: DecisionModel, retrains: Sequence[DecisionModel]) -> Samples:
    """The samples of a model that cannot be fitted again, of the ``retrains`` that came with it.

    Where its options should last under all of these, none is left to judge.
    """
    if spec.policy.lasting is not None:
        return Samples(model, retrains, ())
    return Samples(model, retrains[::2], retrains[1::2][:JUDGES])
