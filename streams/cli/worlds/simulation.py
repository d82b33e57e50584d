"""Simulations: each plays one run for each program, independently of the others. Pure: no Kafka and no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import Struct

from ....schemas.events import (
    Application,
    DeadLetter,
    Model,
    ModelDecision,
    NoRecourse,
    Outcome,
    PromiseChange,
    Recourse,
    Revalidation,
    Reward,
    Round,
)
from ....schemas.headers import CE_ID, cloud_event_headers
from ....schemas.kinds import ce_type, kinds
from ...records import Headers
from ...topics import Topics

SOURCE = "onward/simulation"
_encode = msgspec.json.Encoder().encode

ProgramEvent = Application | Outcome | ModelDecision | Recourse | NoRecourse | Reward | PromiseChange | Revalidation
"""What a run may receive of its program."""


class OutgoingEvent(NamedTuple):
    """An event to publish, and the record's key."""

    event: Application | Outcome | Round | Model
    id: str
    key: bytes
    time_ms: int

    @property
    def value(self) -> bytes:
        """The record's value."""
        return _encode(self.event)

    @property
    def headers(self) -> Headers:
        """The record's headers."""
        return cloud_event_headers(self.id, SOURCE, ce_type(self.event), self.time_ms)

    def topic(self, topics: Topics) -> str:
        """The topic it belongs to."""
        return topics.of(kinds.by_struct[type(self.event)])


class ProgramRun(Protocol):
    """The simulation of one program."""

    @property
    def done(self) -> bool:
        """Whether everything was published and answered."""

    @property
    def awaited(self) -> str | None:
        """The id of what must be received before the run goes on; None where nothing is."""

    def is_rejected(self, application: str) -> bool:
        """Whether the world's model rejects an application of this run; never where the program's decisions say it."""

    def next_events(self, now_ms: int, limit: int | None) -> Iterable[OutgoingEvent]:
        """The events to publish now. ``limit`` bounds the number of applications so far."""

    def receive(self, event: ProgramEvent) -> None:
        """Handle an event of the program."""

    def on_dead_letter(self, ids: set[str]) -> bool:
        """Whether a dead letter of an event with these ids is this run's, which handles it then."""


R = TypeVar("R", bound=ProgramRun)


class Simulation(Generic[R]):
    """Plays runs side by side, by program.

    while not simulation.done:
        for event in simulation.next_events(now_ms): ...   # publish it
        simulation.receive(event)                          # every event that is read, duplicates too
    """

    def __init__(self, runs: Mapping[str, R]) -> None:
        self._runs = runs
        self.last_dead_letter: DeadLetter | None = None
        """The last dead letter of an event of these runs."""

    @property
    def done(self) -> bool:
        """Whether every run is done."""
        return all(run.done for run in self._runs.values())

    @property
    def awaited(self) -> tuple[str, ...]:
        """The ids of what must be received before their programs can go on."""
        return tuple(run.awaited for run in self._runs.values() if run.awaited)

    def is_rejected(self, program: str, application: str) -> bool:
        """Whether an application is of this simulation and its world's model rejects it."""
        return program in self._runs and self._runs[program].is_rejected(application)

    def next_events(self, now_ms: int, limit: int | None = None) -> list[OutgoingEvent]:
        """The events to publish now, those of each program in order. ``limit`` bounds the number of applications of
        each program so far."""
        return [event for run in self._runs.values() for event in run.next_events(now_ms, limit)]

    def receive(self, event: Struct) -> None:
        """Handle an event that was read. Events that are not awaited, such as duplicates, are ignored."""
        if isinstance(event, DeadLetter):
            ids = {content.decode(errors="replace") for name, content in event.headers if name == CE_ID}
            if any(run.on_dead_letter(ids) for run in self._runs.values()):
                self.last_dead_letter = event
        elif isinstance(event, ProgramEvent) and event.program in self._runs:
            self._runs[event.program].receive(event)
