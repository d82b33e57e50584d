"""The contract of promises: what an option guarantees to the person who takes it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..parameters import Equipped
from ..scores import LinearScore as LinearScore
from ..scores import Score as Score
from ..sigmoid import scalar_logit
from .ball import Array as Array
from .ball import LpBall, alpha_max

Counts = NDArray[np.intp]


class Promise(Equipped, ABC):
    """States what holds for a person who becomes an option's target, under models that are trained later.

        promise = registry["lp"](norm=2)
        promise.equip(radius=0.3)                  # what it ``needs``; ``measured`` says it of a model's retrains
        promise.misfit(score)                      # why this model cannot carry it, or None
        promise.robust(score)                      # what options are searched on, to keep it
        promise.guarantee(target, score, 0.5)      # numbers that stand in the recourse
        promise.distance(score, later)             # how far a new model is: who need not be asked about it
        promise.in_words(numbers)                  # what a person reads of them

    A promise is deterministic, and ``onward.testing.check_promise`` checks it. Of its numbers a ``margin`` is not
    negative where it is kept, and a ``share`` is above one half. Its parameters are declared as ``Parametrised``
    says. A program spec gives ``norm``, ``radius`` and ``quantile`` in ``promise`` itself, and those of other names
    in ``promise.parameters``.
    """

    name: ClassVar[str]
    """What a program spec's ``promise.kind`` calls it."""

    is_advised: ClassVar[bool] = False
    """Whether owners whose options do not last are advised to ask for it."""

    def __init__(self, **parameters: Any) -> None:
        self.check(parameters)

    # --- models that carry it -----------------------------------------------------------------------------------------

    def misfit(self, score: Score) -> str | None:  # promises that not every model can carry override it
        """Why options of this model cannot have the promise; None where they can. It may be asked before ``equip``."""
        return None

    @property
    def needs_retrains(self) -> bool:
        """Whether what it ``needs`` is measured on retrains of the model."""
        return bool(self.needs)

    def measured(self, score: Score, retrains: Sequence[Score]) -> dict[str, Any]:
        """The values of its ``needs``, by name, for a model's score and those of models of resamples of its data."""
        return {}

    # --- options ------------------------------------------------------------------------------------------------------

    @classmethod
    def has_own_score(cls) -> bool:
        """Whether options are searched on a score of its own."""
        return cls.robust is not Promise.robust

    def robust(self, score: Score) -> Score:
        """The score that options are searched on: a target above a threshold under it keeps the promise at that one.

        It is nowhere above the model's own.
        """
        return score

    @abstractmethod
    def guarantee(self, target: Array, score: Score, required: float = 0.5) -> dict[str, float] | None:
        """The guarantee of a target (D,) as finite numbers by name; None: nothing.

        ``score`` gives the current model's scores, (n,), of encoded rows (n, D); an option is accepted when its score
        is above ``required``.
        """

    def constants(self) -> dict[str, float]:
        """The numbers of its guarantees that are the same for every target."""
        return {}

    # --- models that come later ---------------------------------------------------------------------------------------

    @property
    def metric(self) -> LpBall:
        """The norm in which linear models are compared, as a ball of any radius."""
        return LpBall(0.0)

    def distance(self, before: Score, after: Score) -> float:
        """The distance of a model from the one before it; infinite where models cannot be compared, as if not linear.

        It is a metric, and depends on parameters alone: what is measured differs from model to model.
        """
        if not isinstance(before, LinearScore) or not isinstance(after, LinearScore):
            return math.inf
        weights, bias = after.weights - before.weights, after.bias - before.bias
        return self.metric.drift(weights[np.newaxis], np.array([bias])).item()

    def certified_distance(self, targets: Array, score: Score, required: float) -> Array:
        """How far from a model others may be that certainly accept each of the targets (n, D) that it accepts, (n,)."""
        if not isinstance(score, LinearScore):
            return np.full(len(targets), math.inf)
        return alpha_max(targets, self.metric.norms(targets), score.weights, score.bias, scalar_logit(required))

    # --- words --------------------------------------------------------------------------------------------------------

    @classmethod
    def in_words(cls, guarantee: Mapping[str, float]) -> str | None:
        """What a person reads of a guarantee, as in "(cost 0.1, accepted by ...)"; None where it is another promise's.

        A guarantee for which no promise has words is told by its numbers.
        """
        return None

    def measured_in_words(self, means: Mapping[str, float]) -> Iterator[str]:
        """What an operator reads of a new model, a line a fact, by the mean numbers of its options' guarantees."""
        numbers = ", ".join(f"{name} {mean:.4g}" for name, mean in means.items())
        if numbers:
            yield f"{self.name}; on average {numbers}"

    def relaxations(self) -> Iterator[str]:
        """What owners may change, so that options need reach less, as in "a larger `promise.quantile` than 0.1"."""
        yield from ()


class Certified(Promise):
    """A promise that states the share of later models that accept an option, by the verdict of retrains.

    What their verdict is worth is measured on rows that are kept aside when a model is trained. Then ``equip`` is also
    given a ``calibration``, a ``ShareCalibration``.
    """

    @abstractmethod
    def certified(self, targets: Array, required: float = 0.5) -> Counts:
        """The number of certifying retrains that accept each target (n, D), (n,)."""
