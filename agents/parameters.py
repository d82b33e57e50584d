"""What methods take by name: parameters, as keywords of the constructor, and artefacts that are made with a model."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Interval:
    """An interval of finite numbers; the ends ``at_least`` and ``at_most`` belong to it.

    Examples
    --------
    >>> 0.05 in Interval(above=0, below=1), 1.0 in Interval(above=0, below=1), 1.0 in Interval(at_most=1)
    (True, False, True)
    >>> print(Interval(above=0))
    above 0
    """

    above: float = -math.inf
    below: float = math.inf
    at_least: float = -math.inf
    at_most: float = math.inf

    def __contains__(self, value: float) -> bool:
        return self.above < value < self.below and self.at_least <= value <= self.at_most

    def __str__(self) -> str:
        ends = (("above", self.above), ("at least", self.at_least), ("below", self.below), ("at most", self.at_most))
        return " and ".join(f"{word} {end:g}" for word, end in ends if math.isfinite(end)) or "that is finite"


@dataclass(frozen=True)
class Parameter:
    """A value that a method takes: a number of the ``interval``, or one of the ``words``.

    Examples
    --------
    >>> radius = Parameter("auto", Interval(at_least=0), ("auto",))
    >>> radius.allows(0.5), radius.allows("auto"), radius.allows(-1.0)
    (True, True, False)
    >>> print(radius)
    a number at least 0 or auto
    """

    default: Any
    interval: Interval | None = None
    words: tuple[str, ...] = ()

    def allows(self, value: object) -> bool:
        """Whether it may have this value."""
        is_number = isinstance(value, int | float) and self.interval is not None and value in self.interval
        return is_number or value in self.words

    def __str__(self) -> str:
        number = () if self.interval is None else (f"a number {self.interval}",)
        return " or ".join((*number, *self.words))


class Parametrised:
    """A method whose parameters are keywords of the constructor.

    Each is declared once: a number as ``name: Annotated[float, Interval(...)] = default``, a word as
    ``name: Literal["one", "other"] = default``, and what may be either as
    ``name: Annotated[float | Literal["auto"], Interval(...)] = default``.
    """

    name: ClassVar[str]
    """What a program spec calls it."""

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """The parameters that this method takes, by name."""
        method: Any = cls
        return dict(_parameters_of(method))

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Raise ``ValueError`` when a parameter is not one of this method's or has another value than it may."""
        known = cls.parameters()
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(f"{cls.name} has no parameter {name!r}: it takes {', '.join(known) or 'none'}")
            if not known[name].allows(value):
                raise ValueError(f"{name} is {value}: {cls.name} needs {known[name]}")

    @classmethod
    def faults(cls, given: Mapping[str, Any], threshold: float) -> Iterator[tuple[str | None, str]]:
        """The faults of the parameters that a spec has ``given``, beyond the values of each.

        ``threshold`` is the score above which the model approves. A fault is a parameter, None where one is missing,
        and a sentence.
        """
        yield from ()


@cache
def _parameters_of(method: type[Any]) -> Mapping[str, Parameter]:
    """Read from the signature of the constructor, which takes longer than most constructors."""
    hints = get_type_hints(method.__init__, include_extras=True)
    declared = {
        name: _declared(hints.get(name), argument.default)
        for name, argument in inspect.signature(method).parameters.items()
    }
    return {name: parameter for name, parameter in declared.items() if parameter is not None}


def _declared(hint: Any, default: Any) -> Parameter | None:
    """The parameter of a type hint; None where it declares none."""
    interval = next((entry for entry in getattr(hint, "__metadata__", ()) if isinstance(entry, Interval)), None)
    words = tuple(_literals(hint)) if interval is not None or get_origin(hint) is Literal else ()
    return Parameter(default, interval, words) if interval is not None or words else None


def _literals(hint: Any) -> list[str]:
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    parts = get_args(hint)[:1] if get_origin(hint) is Annotated else get_args(hint)
    return [word for part in parts for word in _literals(part)]


class Equipped(Parametrised):
    """A method that is given artefacts before it is used."""

    needs: ClassVar[frozenset[str]] = frozenset()
    """What ``equip`` must be given: artefacts that are made together with a model, by name."""

    def equip(self, **artefacts: Any) -> None:
        """Take what this method ``needs``, before it is used.

        Raise ``ValueError`` when something is missing, too much, or no possible value.
        """
        if artefacts.keys() != self.needs:
            raise ValueError(f"{self.name} needs {sorted(self.needs)}, not {sorted(artefacts)}")
