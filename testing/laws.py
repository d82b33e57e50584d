"""The laws of a contract, and what is said where a method breaks one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

S = TypeVar("S")


class ContractError(AssertionError):
    """A method breaks a law of its contract. Its one line says which law, with the seed and an example."""


class BreachError(Exception):
    """An example of how a law is broken."""


def require(holds: object, example: str) -> None:
    """Raise ``BreachError`` with the example, unless it holds."""
    if not holds:
        raise BreachError(example)


@contextmanager
def refuses(what: str, *words: str) -> Iterator[None]:
    """Require a ``ValueError`` whose text has these words."""
    try:
        yield
    except ValueError as error:
        for word in words:
            require(word in str(error), f"the ValueError for {what} says {str(error)!r}, without {word!r}")
        return
    raise BreachError(f"it takes {what}: raise a ValueError")


@dataclass(frozen=True)
class Law(Generic[S]):
    """One law: the ``text`` says what holds, and ``check`` breaks off with an example where it does not.

    Where it has ``draws``, it is checked for as many seeds, each of which draws another case; else it has one case.
    """

    text: str
    check: Callable[..., None]
    draws: int = 0

    def hold(self, name: str, subject: S, seeds: Iterable[int] | None = None) -> None:
        """Check the law of a method of this name; raise ``ContractError`` at the first case that breaks it."""
        broken = f"{name} breaks the law `{self.check.__name__}`"
        if not self.draws:
            self._hold(f"{broken}. {self.text}", subject)
            return
        for seed in range(self.draws) if seeds is None else seeds:
            self._hold(f"{broken} with seed {seed}. {self.text}", subject, seed)

    def _hold(self, broken: str, *given: Any) -> None:
        try:
            self.check(*given)
        except BreachError as example:
            raise ContractError(f"{broken} Here, {example}.") from None
        except Exception as error:
            raise ContractError(f"{broken} Here, it raised {type(error).__name__}: {error}.") from error


class Contract(Mapping[str, Law[S]]):
    """The laws of a contract by name, in the order in which they are checked: those of its ``parts``, then its own."""

    def __init__(self, *parts: Contract[S]) -> None:
        self._laws: dict[str, Law[S]] = {name: law for part in parts for name, law in part.items()}

    def law(self, draws: int = 0) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Add a law: a function of a method, and of a seed where it ``draws``. Its docstring says what holds."""

        def add(check: Callable[..., None]) -> Callable[..., None]:
            text = " ".join((check.__doc__ or "").split())
            self._laws[check.__name__] = Law(text, check, draws)
            return check

        return add

    def hold(self, name: str, subject: S, seeds: Iterable[int] | None = None) -> None:
        """Check all laws."""
        given = None if seeds is None else list(seeds)
        for law in self._laws.values():
            law.hold(name, subject, given)

    def __getitem__(self, name: str) -> Law[S]:
        return self._laws[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._laws)

    def __len__(self) -> int:
        return len(self._laws)


def name_of(kind: type, contract: type) -> str:
    """The name of a method; raise ``ContractError`` where it is none of the contract, or has no name."""
    if not (isinstance(kind, type) and issubclass(kind, contract)):
        raise ContractError(f"{kind!r} is no {contract.__name__}: give a class that inherits from it")
    name = getattr(kind, "name", None)
    if not isinstance(name, str):
        raise ContractError(f"{kind.__name__} has no name: give it `name: ClassVar[str]`, by which specs call it")
    return name


def same_arrays(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """The first name whose arrays differ in shape, type or any bit; None where all are the same."""
    for name in sorted({*one, *other}):
        first, second = one.get(name), other.get(name)
        if first is None or second is None or (first.shape, first.dtype) != (second.shape, second.dtype):
            return name
        if first.tobytes() != second.tobytes():
            return name
    return None
