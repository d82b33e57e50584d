"""The contract of goals: the score that must be reached, and until when it holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from ..arrays import Array, Mask
from ..parameters import Parametrised
from ..scores import FEWEST_DIGITS, rounded_down


class Goal(Parametrised, ABC):
    """The score that leads to a yes: never one that the model rejects. ``onward.testing.check_goal`` checks it.

    Its own parameters are keywords of the constructor, declared as ``Parametrised`` says.

    Parameters
    ----------
    threshold
        The decision threshold of the program's model, in [0, 1].
    margin
        How far beyond the threshold a score must be, so that an option survives a retrained model.
    """

    name: ClassVar[str]
    """What a program spec's ``policy.goal`` calls it."""

    def __init__(self, threshold: float, margin: float = 0.0, **parameters: float) -> None:
        self.check(parameters)
        self.threshold = threshold
        self.margin = margin

    @property
    @abstractmethod
    def required(self) -> float:
        """The score that must be exceeded."""

    def in_words(self, digits: int = FEWEST_DIGITS) -> str:
        """The score that must be exceeded, for people: with the margin that is in it, where there is one."""
        threshold, margin = rounded_down(self.threshold, digits), rounded_down(self.margin, digits)
        parts = f" (threshold {threshold} and margin {margin})" if self.margin else ""
        return f"{rounded_down(self.required, digits)}{parts}"

    def reached(self, score: Array) -> Mask:
        """Whether each of n scores reaches the goal, (n,)."""
        return np.asarray(np.greater(score, self.required))

    def until_ms(self, time_ms: int) -> int | None:  # goals that expire override it
        """Until which event time the goal holds for an answer given at ``time_ms``; None: it does not expire."""
        return None
