"""An application's events as ``onward show --json`` and the console give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType

from ...schemas.headers import format_time
from .happenings import Happening
from .history import state_of

Shares = Mapping[str, tuple[float, float]]
"""The share of people who are believed to change a feature, before and after, by the features of which it changed; or
to be of a component of the prior, by the components."""


class ShownEvent(NamedTuple):
    """A happening; ``taught`` is unset where it has taught nothing."""

    time: str
    kind: str
    topic: str
    partition: int
    offset: int
    id: str
    was_read: bool
    refused: bool
    repeated: bool
    taught: Shares | UnsetType
    event: Struct


class ShownProgram(NamedTuple):
    """What one program knows of an application; ``missing`` names what is not known."""

    program: str | None
    state: str
    events: Sequence[ShownEvent]
    missing: Sequence[str]


def shown_event(happening: Happening, taught: Shares) -> ShownEvent:
    """An event, with what it taught."""
    place = happening.topic, happening.partition, happening.offset
    flags = happening.was_read, happening.refused, happening.repeated
    time = format_time(happening.time_ms)
    return ShownEvent(time, happening.kind, *place, happening.id, *flags, taught or UNSET, happening.event)


def shown_program(program: str | None, happenings: Sequence[Happening]) -> ShownProgram:
    """All events of a program about an application."""
    events = [shown_event(happening, {}) for happening in happenings]
    return ShownProgram(program, state_of(list(happenings)), events, ())
