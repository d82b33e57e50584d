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

    The modules are imported when the first method is asked for.

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
        self._base, self._package, self._path = base, package, path
        self._added: dict[str, type[T]] = {}
        self._is_complete = False

    def add(self, method: type[T]) -> type[T]:
        """Add a method that lives elsewhere; usable as a decorator. Raise ``ValueError`` when its name is taken."""
        name: str = method.name  # type: ignore[attr-defined]  # every concrete method has one
        if self._added.setdefault(name, method) is not method:
            raise ValueError(f"two methods are called {name!r}: {self._added[name]} and {method}")
        self._added = dict(sorted(self._added.items()))
        return method

    def discard(self, name: str) -> None:
        """Take a method out again."""
        del self._added[name]

    @property
    def _found(self) -> dict[str, type[T]]:
        if not self._is_complete:
            for module in pkgutil.iter_modules(self._path):
                for _, method in inspect.getmembers(import_module(f"{self._package}.{module.name}"), inspect.isclass):
                    if issubclass(method, self._base) and not inspect.isabstract(method):
                        self.add(method)
            self._is_complete = True
        return self._added

    def __getitem__(self, name: str) -> type[T]:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
