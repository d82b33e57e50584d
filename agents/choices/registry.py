"""All choices by name, found by importing this folder: a new file with a choice in it is all that is needed."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from .contract import Choice


def find(package: str, path: list[str]) -> Mapping[str, type[Choice]]:
    """The choices of every module of a package, by their names, in the order of their names.

    Raises
    ------
    ValueError
        When two of them have the same name.
    """
    found: dict[str, type[Choice]] = {}
    for module in pkgutil.iter_modules(path):
        for _, choice in inspect.getmembers(import_module(f"{package}.{module.name}"), inspect.isclass):
            if not issubclass(choice, Choice) or inspect.isabstract(choice):
                continue
            if found.setdefault(choice.name, choice) is not choice:
                raise ValueError(f"two choices are called {choice.name!r}: {found[choice.name]} and {choice}")
    return MappingProxyType(dict(sorted(found.items())))
