"""What methods take by name: numbers, as keywords of the constructor, and artefacts that are made with a model."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Interval:
    """An open interval of finite numbers.

    Examples
    --------
    >>> 0.05 in Interval(above=0, below=1)
    True
    >>> 1.0 in Interval(above=0, below=1)
    False
    >>> print(Interval(above=0))
    above 0
    """

    above: float = -math.inf
    below: float = math.inf

    def __contains__(self, value: float) -> bool:
        return self.above < value < self.below

    def __str__(self) -> str:
        ends = (("above", self.above), ("below", self.below))
        return " and ".join(f"{word} {end:g}" for word, end in ends if math.isfinite(end)) or "that is finite"


class Parameter(NamedTuple):
    """A number that a method takes: its default, and the interval of its values."""

    default: float
    interval: Interval


class Parametrised:
    """A method whose parameters are keywords of the constructor.

    Each is declared once, as ``name: Annotated[float, Interval(...)] = default``.
    """

    name: ClassVar[str]
    """What a program spec calls it."""

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """The parameters that this method takes, by name."""
        hints = get_type_hints(cls.__init__, include_extras=True)
        return {
            name: Parameter(argument.default, get_args(hints[name])[1])
            for name, argument in inspect.signature(cls).parameters.items()
            if get_origin(hints.get(name)) is Annotated
        }

    @classmethod
    def check(cls, parameters: Mapping[str, float]) -> None:
        """Raise ``ValueError`` when a parameter is not one of this method's or lies outside its interval."""
        known = cls.parameters()
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(f"{cls.name} has no parameter {name!r}: it takes {', '.join(known) or 'none'}")
            if value not in known[name].interval:
                raise ValueError(f"{name} is {value}: {cls.name} needs a number {known[name].interval}")


class Equipped(Parametrised):
    """A method that is given artefacts before it is used."""

    needs: ClassVar[frozenset[str]] = frozenset()
    """What ``equip`` must be given: artefacts that are made together with a model, by name."""

    def equip(self, **artefacts: Any) -> None:
        """Take what this method ``needs``, before it is used.

        Raises
        ------
        ValueError
            When something is missing, too much, or no possible value.
        """
        if artefacts.keys() != self.needs:
            raise ValueError(f"{self.name} needs {sorted(self.needs)}, not {sorted(artefacts)}")
