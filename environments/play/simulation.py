"""Simulations: each plays one run for each program, step by step. Pure: no Kafka and no clock.

class MyRun(Run):
    def __init__(self, program):
        super().__init__(program, prefix="")
        self.play(self._rounds())

    def _rounds(self):
        answer = AwaitedAnswer("1")
        event = OutgoingEvent(application, id, key, self._now_ms)
        yield SimulationStep(id, lambda: [event], answer.is_read, applies=True)
        ...                                                  # here the answer has been read: answer.options
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from ...schemas.events import (
    Answer,
    Application,
    DeadLetter,
    Journaled,
    Model,
    ModelDecision,
    NoRecourse,
    Option,
    Outcome,
    PromiseChange,
    Question,
    Recourse,
    Revalidation,
    Reward,
    Round,
)
from ...schemas.headers import CE_ID, cloud_event_headers
from ...schemas.kinds import ce_type, kinds
from ...streams.records import Headers
from ...streams.topics import Topics

SOURCE = "onward/simulation"
_encode = msgspec.json.Encoder().encode

ProgramEvent = (
    Application | Outcome | ModelDecision | Question | Recourse | NoRecourse | Reward | PromiseChange | Revalidation
)
"""The events that a run may receive of its program."""


class OutgoingEvent(NamedTuple):
    """An event to publish, and the record's key."""

    event: Application | Answer | Outcome | Round | Model
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


class SimulationStep(NamedTuple):
    """Events that are published together, and what shows that they have had their effect."""

    awaited: str
    """The id of what must be received before the run goes on."""
    events: Callable[[], Iterable[OutgoingEvent]] | None
    """Called when it is their turn; None: the run only waits."""
    is_over: Callable[[Struct], bool] | None
    """Whether the run goes on after an event that was read; None: without one."""
    applies: bool = False
    """Whether applications are among the events, so that their limit may hold the step back."""


class Run:
    """The simulation of one program: one step after the other. Code after a step runs when the step is over."""

    def __init__(self, program: str, prefix: str) -> None:
        self.program, self._prefix = program, prefix
        # Event time never goes back, even if the clock does: an outcome before its recourse would be dangling.
        self._now_ms = self._applications = 0
        self._steps: Iterator[SimulationStep] = iter(())
        self._next: SimulationStep | None = None
        self._pending: SimulationStep | None = None

    def play(self, steps: Iterator[SimulationStep]) -> None:
        """Begin with the first of some steps."""
        self._steps = steps
        self._go_on()

    def _go_on(self) -> None:
        self._pending, self._next = None, next(self._steps, None)
        if self._next is not None and self._next.events is None:
            self._pending, self._next = self._next, None

    @property
    def done(self) -> bool:
        """Whether every step is over."""
        return self._pending is None and self._next is None

    @property
    def awaited(self) -> str | None:
        """The id of what must be received before the run goes on; None where nothing is."""
        return None if self._pending is None else self._pending.awaited

    def is_rejected(self, application: str) -> bool:  # where the program's decisions say it, nobody is
        """Whether the world's model rejects an application of this run."""
        return False

    def next_events(self, now_ms: int, limit: int | None) -> Iterator[OutgoingEvent]:
        """The events to publish now. ``limit`` bounds the number of applications so far."""
        self._now_ms = max(self._now_ms, now_ms)
        while self._pending is None and (step := self._next) and step.events is not None:
            if step.applies and limit is not None and self._applications >= limit:
                return
            self._pending, self._next = step, None
            for event in step.events():
                self._applications += isinstance(event.event, Application)
                yield event
            if step.is_over is None:
                self._go_on()

    def receive(self, event: Struct) -> None:
        """Handle an event of the program, or a line of the journal."""
        if self._pending is not None and self._pending.is_over is not None and self._pending.is_over(event):
            self._go_on()

    def on_dead_letter(self, ids: set[str]) -> bool:
        """Whether a dead letter of an event with these ids is this run's. Nothing goes on then: a step is missing."""
        return self.awaited in ids


class AwaitedAnswer:
    """Waits for the answer to an application: ``options`` is None until it is read."""

    def __init__(self, application: str) -> None:
        self._application = application
        self.options: Sequence[Option] | None = None

    def is_read(self, event: Struct) -> bool:
        """Whether an event is the answer."""
        match event:
            case Recourse(application=self._application, is_revision=False):
                self.options = event.options
            case NoRecourse(application=self._application):
                self.options = ()
        return self.options is not None


def is_journaled(id: str) -> Callable[[Struct], bool]:
    """Whether an event is the line of the journal of the input with this id."""
    return lambda event: isinstance(event, Journaled) and event.id == id


def fate_of(outcome: str) -> Callable[[Struct], bool]:
    """Whether an event is the fate of the outcome with this id."""
    return lambda event: isinstance(event, Reward) and event.outcome == outcome


class Simulation:
    """Plays runs side by side, by program.

    while not simulation.done:
        for event in simulation.next_events(now_ms): ...   # publish it
        simulation.receive(event)                          # every event that is read, duplicates too
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = {run.program: run for run in runs}
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
        elif isinstance(event, Journaled):
            for run in self._runs.values():
                run.receive(event)
        elif isinstance(event, ProgramEvent) and event.program in self._runs:
            self._runs[event.program].receive(event)
