"""What every promise is: what an option guarantees to the person who takes it."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ..choices.interval import Interval
from ..scores import LinearScore as LinearScore
from ..scores import Score as Score

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Promise(ABC):
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
    """What a program spec's ``policy.promise`` calls it."""

    needs: ClassVar[frozenset[str]] = frozenset()
    """What ``equip`` must be given: artefacts that are made together with a model, by name."""

    def __init__(self, **parameters: float) -> None:
        self.check(parameters)

    @classmethod
    def parameters(cls) -> dict[str, tuple[float, Interval]]:
        """The numbers that this promise takes: their defaults and intervals, by name."""
        hints = get_type_hints(cls.__init__, include_extras=True)
        return {
            name: (argument.default, get_args(hints[name])[1])
            for name, argument in inspect.signature(cls).parameters.items()
            if get_origin(hints.get(name)) is Annotated
        }

    @classmethod
    def check(cls, parameters: Mapping[str, float]) -> None:
        """Raise ``ValueError`` when a parameter is not one of this promise's or lies outside its interval."""
        known = cls.parameters()
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(f"{cls.name} has no parameter {name!r}: it takes {', '.join(known) or 'none'}")
            if value not in known[name][1]:
                raise ValueError(f"{name} is {value}: {cls.name} needs a number {known[name][1]}")

    def equip(self, **artefacts: Any) -> None:
        """Take what this promise ``needs``.

        Raises
        ------
        ValueError
            When something is missing, too much, or no possible value.
        """
        if artefacts.keys() != self.needs:
            raise ValueError(f"{self.name} needs {sorted(self.needs)}, not {sorted(artefacts)}")

    def misfit(self, score: Score) -> str | None:  # noqa: ARG002 -- promises that not every model can carry override it
        """Why options of this model cannot be given the promise; None where they can."""
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
