"""A promise: an option holds while the log odds of nobody fall by more than the option has to spare."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from onward.agents.parameters import Interval
from onward.agents.promises import Promise, registry
from onward.agents.promises.ball import log_odds
from onward.agents.promises.contract import Array, LinearScore, Score
from onward.agents.sigmoid import scalar_logit


@registry.add
class Distance(Promise):
    """States how far the log odds of a target are above the required ones: its distance.

    Parameters
    ----------
    least
        The least distance of an option; ``auto`` is the median distance of the model's retrains.
    """

    name: ClassVar[str] = "distance"
    needs: ClassVar[frozenset[str]] = frozenset({"least"})

    def __init__(self, *, least: Annotated[float | Literal["auto"], Interval(at_least=0)] = 0.0) -> None:
        super().__init__(least=least)
        self._given, self._least = least, 0.0

    @property
    def needs_retrains(self) -> bool:
        """Where the least distance is measured on them."""
        return self._given == "auto"

    def measured(self, score: Score, retrains: Sequence[Score]) -> dict[str, Any]:
        """The least distance."""
        if self._given != "auto":
            return {"least": self._given}
        return {"least": float(np.median([self.distance(score, retrain) for retrain in retrains]))}

    def equip(self, **artefacts: Any) -> None:
        """Take the least distance."""
        super().equip(**artefacts)
        self._least = artefacts["least"]

    def misfit(self, score: Score) -> str | None:
        """Distances are between linear models."""
        return None if isinstance(score, LinearScore) else "its score is not linear"

    def robust(self, score: Score) -> Score:
        """The score after the log odds have fallen by the least distance."""

        def fallen(X: Array) -> Array:
            scores, factor = score(X), math.exp(self._least)
            return scores / (scores + (1.0 - scores) * factor)

        return fallen

    def guarantee(self, target: Array, score: Score, required: float = 0.5) -> dict[str, float] | None:
        """The distance of the target."""
        if not isinstance(score, LinearScore):
            return None
        return {"distance": self.certified_distance(target[np.newaxis], score, required).item()}

    def constants(self) -> dict[str, float]:
        """The least distance."""
        return {"least_distance": self._least}

    def distance(self, before: Score, after: Score) -> float:
        """By how much the log odds of a person differ at most: encoded people lie between 0 and 1."""
        if not isinstance(before, LinearScore) or not isinstance(after, LinearScore):
            return math.inf
        weights, bias = after.weights - before.weights, after.bias - before.bias
        return float(max(weights.clip(min=0.0).sum() + bias, -weights.clip(max=0.0).sum() - bias))

    def certified_distance(self, targets: Array, score: Score, required: float) -> Array:
        """The log odds that each target has to spare."""
        if not isinstance(score, LinearScore):
            return np.full(len(targets), math.inf)
        return log_odds(targets, score.weights, score.bias) - scalar_logit(required)

    @classmethod
    def in_words(cls, guarantee: Mapping[str, float]) -> str | None:
        """What a person reads."""
        distance = guarantee.get("distance")
        return None if distance is None else f"holds while log odds fall by less than {distance:.2f}"

    def measured_in_words(self, means: Mapping[str, float]) -> Iterator[str]:
        """What an operator reads of a new model."""
        if "least_distance" in means:
            yield f"{self.name}; options have at least {means['least_distance']:.2f} log odds to spare"

    def relaxations(self) -> Iterator[str]:
        """What owners may change where people get no option."""
        yield "a smaller `promise.parameters.least`"
