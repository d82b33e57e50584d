"""What the methods of each room take by name, from their declarations and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import NamedTuple

from ... import agents
from ...agents import candidates, choices, costs, goals, promises
from ...agents.parameters import Parameter, Parametrised
from ...streams.programs.promised import FIELDS

ROOMS: Mapping[str, Mapping[str, type[Parametrised]]] = {
    "policy.parameters": choices.registry,
    "policy.generator_parameters": candidates.registry,
    "policy.goal_parameters": {**goals.registry, **goals.round_registry},
    "policy.cost_parameters": costs.registry,
    "promise.parameters": promises.registry,
}
"""The methods of each field of a spec that holds parameters."""


class MethodParameter(NamedTuple):
    """A parameter of methods: the field of a spec that gives it, and what it means."""

    field: str
    parameter: Parameter
    meaning: str


def method_parameters() -> dict[MethodParameter, list[str]]:
    """Every parameter of every method, room by room, with the methods that take it."""
    takers: dict[MethodParameter, list[str]] = {}
    for field, methods in ROOMS.items():
        for method, kind in methods.items():
            if not kind.__module__.startswith(f"{agents.__name__}."):
                continue  # registered by a benchmark or an example in the same process
            for name, parameter in kind.parameters().items():
                path = f"promise.{name}" if field == "promise.parameters" and name in FIELDS else f"{field}.{name}"
                takers.setdefault(MethodParameter(path, parameter, meaning(kind, name)), []).append(method)
    return takers


def meaning(kind: type[Parametrised], name: str) -> str:
    """What the docstring of a method, or of a base of it, says of a parameter.

    Raises ``LookupError`` where none does.
    """
    for base in kind.__mro__:
        section = inspect.cleandoc(base.__doc__ or "").partition("\nParameters\n----------\n")[2]
        if found := re.search(rf"^{name}\n((?: {{4}}.*\n?)+)", section.partition("\n\n")[0], re.MULTILINE):
            return _plain(" ".join(found[1].split()))
    raise LookupError(f"no docstring of {kind.__name__} has {name} among its Parameters")


def _plain(text: str) -> str:
    """A text of a docstring without the marks of formulae."""
    return re.sub(r"\$\\?([^$]*)\$", r"\1", text).replace("``", "`")
