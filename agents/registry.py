"""Methods by name. A new file in a room's folder is all that a new method needs."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar

T = TypeVar("T")


class Registry(Mapping[str, type[T]], Generic[T]):
    """The concrete subclasses of ``base`` that the modules of a package hold, by their ``name``, in that order.

    Parameters
    ----------
    base
        What every method of the room is; each of its concrete subclasses has a class attribute ``name``.
    package
        The name of the package, and its ``__path__``: every module in it is imported.

    Raises
    ------
    ValueError
        When two methods have the same name.
    """

    def __init__(self, base: type[T], package: str, path: Iterable[str]) -> None:
        self._base = base
        self._found: dict[str, type[T]] = {}
        for module in pkgutil.iter_modules(path):
            for _, method in inspect.getmembers(import_module(f"{package}.{module.name}"), inspect.isclass):
                if issubclass(method, base) and not inspect.isabstract(method):
                    self.add(method)

    def add(self, method: type[T]) -> type[T]:
        """Add a method that lives elsewhere; usable as a decorator. Raise ``ValueError`` when its name is taken."""
        name: str = method.name  # type: ignore[attr-defined]  # every concrete method has one
        if self._found.setdefault(name, method) is not method:
            raise ValueError(f"two methods are called {name!r}: {self._found[name]} and {method}")
        self._found = dict(sorted(self._found.items()))
        return method

    def discard(self, name: str) -> None:
        """Take a method out again."""
        del self._found[name]

    def __getitem__(self, name: str) -> type[T]:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
