"""The worlds that ``onward demo`` and ``onward simulate`` play, by name: one file or package a world."""

from __future__ import annotations

from pathlib import Path

from ..agents.registry import Registry
from ..streams.errors import UsageError
from ..streams.settings import WorldSettings
from .play.contract import SimulatedWorld

registry = Registry(SimulatedWorld, __package__, [str(Path(__file__).parent)])  # type: ignore[type-abstract]
"""Every world by the name that ``--world`` uses."""


def worlds_in_words() -> str:
    """The names for ``--world``, each with the number of people that it has where none is given."""
    return "Worlds: " + "; ".join(map(_in_words, registry.values())) + "."


def _in_words(world: type[SimulatedWorld]) -> str:
    people = "" if world.default_people is None else f" (--people {world.default_people})"
    return f"{world.name}: {world.in_words}{people}"


def kind_of(settings: WorldSettings) -> type[SimulatedWorld]:
    """The world that settings name; raise ``UsageError`` where there is none."""
    if settings.world not in registry:
        raise UsageError(f"--world {settings.world}: there is no such world, use one of {', '.join(registry)}")
    return registry[settings.world]
