"""What every promise is: what an option guarantees to the person who takes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..parameters import Equipped
from ..scores import LinearScore as LinearScore
from ..scores import Score as Score

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Promise(Equipped, ABC):
    """States what holds for a person who becomes an option's target, under models that are trained later.

        promise = registry["lp"](norm=2)
        promise.equip(radius=0.3)                  # what it ``needs``: measured together with the model
        promise.misfit(score)                      # why this model cannot carry it, or None
        promise.robust(score)                      # what options are searched on, to keep it
        promise.guarantee(target, score, 0.5)      # numbers that stand in the recourse

    A promise is deterministic. A parameter is a keyword of the constructor, declared once, as
    ``name: Annotated[float, Interval(...)] = default``.
    """

    name: ClassVar[str]
    """What a program spec's ``promise.kind`` calls it."""

    def __init__(self, **parameters: float) -> None:
        self.check(parameters)

    def misfit(self, score: Score) -> str | None:  # noqa: ARG002 -- promises that not every model can carry override it
        """Why options of this model cannot have the promise; None where they can. It may be asked before ``equip``."""
        return None

    def robust(self, score: Score) -> Score:
        """The score that options are searched on: a target above a threshold under it keeps the promise at that one.

        It is nowhere above the model's own.
        """
        return score

    @abstractmethod
    def guarantee(self, target: Array, score: Score, required: float = 0.5) -> dict[str, float] | None:
        """What is guaranteed of a target, shape (D,), as finite numbers by name; None: nothing.

        ``score`` gives the current model's scores, (n,), of encoded rows (n, D); an option is accepted when its score
        is above ``required``.
        """
