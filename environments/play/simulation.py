"""Simulations: a generator for each program yields what is sent, and is sent the answer. Pure: no Kafka and no clock.

class MyRun(Run):
    def __init__(self, program):
        super().__init__(program, prefix="")
        self.play(self._rounds())

    def _rounds(self):
        event = OutgoingEvent(application, id, key, self._now_ms)
        answer = yield SimulationStep(id, lambda: [event], answer_to("1"), applies=True)
        ...                                                  # here the answer has been read
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

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
        return topics.topic_of(kinds.by_struct[type(self.event)])


class SimulationStep(NamedTuple):
    """Events that are published together, and what shows that they have had their effect."""

    awaited: str
    """The id of what must be received before the run goes on."""
    events: Callable[[], Iterable[OutgoingEvent]] | None
    """Called when it is their turn; None: the run only waits."""
    is_over: Callable[[Struct], bool] | None
    """Whether the run goes on after an event that was read, which it is sent; None: without one."""
    applies: bool = False
    """Whether applications are among the events, so that their limit may hold the step back."""


TOGETHER = SimulationStep("", None, None)
"""The step at which runs wait for one another."""
Steps = Generator[SimulationStep, Any, None]


class Run:
    """The simulation of one program: one step after the other. Code after a step runs when the step is over."""

    def __init__(self, program: str, prefix: str) -> None:
        self.program, self._prefix = program, prefix
        # Event time never goes back, even if the clock does: an outcome before its recourse would be dangling.
        self._now_ms = self._applications = 0
        self.rejected: set[str] = set()
        """The applications that the world's model rejects; none where the program's decisions say it."""
        self._steps: Steps = _no_steps()
        self._next: SimulationStep | None = None
        self._pending: SimulationStep | None = None

    def play(self, steps: Steps) -> None:
        """Begin with the first of some steps."""
        self._steps = steps
        self._go_on()

    def _go_on(self, event: Struct | None = None) -> None:
        try:
            step = self._steps.send(event)
        except StopIteration:
            self._pending = self._next = None
        else:
            self._pending, self._next = (step, None) if step.events is None else (None, step)

    @property
    def waits_for_others(self) -> bool:
        """Whether it goes on when all other runs do, too."""
        return self._pending is TOGETHER

    def go_on_together(self, now_ms: int) -> None:
        """Go on now, as all other runs do."""
        self._now_ms = max(self._now_ms, now_ms)
        self._go_on()

    @property
    def done(self) -> bool:
        """Whether every step is over."""
        return self._pending is None and self._next is None

    @property
    def awaited(self) -> str | None:
        """The id of what must be received before the run goes on; None where nothing is."""
        return None if self._pending is None else self._pending.awaited

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
            self._go_on(event)

    def on_dead_letter(self, ids: set[str]) -> bool:
        """Whether a dead letter of an event with these ids is this run's. Nothing goes on then: a step is missing."""
        return bool(self.awaited) and self.awaited in ids


def _no_steps() -> Steps:
    yield from ()


def answer_to(application: str) -> Callable[[Struct], bool]:
    """Whether an event is the first answer to an application."""

    def is_answer(event: Struct) -> bool:
        match event:
            case Recourse(application=name, is_revision=False) | NoRecourse(application=name):
                return name == application
        return False

    return is_answer


def options_of(answer: Recourse | NoRecourse) -> Sequence[Option]:
    """The options of an answer."""
    return answer.options if isinstance(answer, Recourse) else ()


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
        """Whether an application was sent by this simulation and its world's model rejects it."""
        return program in self._runs and application in self._runs[program].rejected

    def next_events(self, now_ms: int, limit: int | None = None) -> list[OutgoingEvent]:
        """The events to publish now, those of each program in order. ``limit`` bounds the number of applications of
        each program so far."""
        while self._runs and all(run.waits_for_others for run in self._runs.values()):
            for run in self._runs.values():
                run.go_on_together(now_ms)
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
