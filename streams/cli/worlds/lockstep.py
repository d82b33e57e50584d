"""Simulates worlds against the pipeline in lock-step: the journal's order is the order of the protocol's rounds.

simulation = LockstepSimulation([SimulatedProgram("credit-linucb", world, Scoreboard(world))])
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple, Protocol

from ....environments.improvement import DueOutcome
from ....environments.rounds import Scoreboard
from ....schemas.events import Application, NoRecourse, Option, Outcome, Recourse, Reward, Value
from .simulation import OutgoingEvent, ProgramEvent, Simulation


class World(Protocol):
    """People who apply, numbered t = 0, 1, ..., and the outcomes of what is suggested to them.

    What a suggestion is to this world is up to the ``read`` of its ``SimulatedProgram``.
    """

    @property
    def people(self) -> int:
        """How many applications there are."""

    def application(self, t: int) -> tuple[str, Mapping[str, Value]]:
        """The id and the raw features of application t."""

    def number(self, application: str) -> int:
        """The t of an application's id; raise ``ValueError`` when it is not one."""

    def is_rejected(self, t: int) -> bool:
        """Whether the world's model rejects application t."""

    def outcome(self, t: int, suggestion: Any, /) -> DueOutcome | None:
        """The outcome of a suggestion to application t; None when none will ever be reported."""


def first_candidate(_: int, options: Sequence[Option]) -> int:
    """The candidate of the first option, for worlds that know candidates only."""
    return int(options[0].candidate)


class SimulatedProgram(NamedTuple):
    """A program, the world it serves, and the scoreboard that records its suggestions.

    ``read(t, options)`` is what the options of a recourse for application t are to the world and to the scoreboard.
    """

    program: str
    world: World
    recorder: Scoreboard
    read: Callable[[int, Sequence[Option]], Any] = first_candidate


class LockstepSimulation(Simulation["_ProgramRun"]):
    """Simulates one world for each program.

    ``prefix`` is put before every application's id, so that a world can be simulated again on the same topics.
    """

    def __init__(self, programs: Sequence[SimulatedProgram], prefix: str = "") -> None:
        super().__init__({simulated.program: _ProgramRun(simulated, prefix) for simulated in programs})


@dataclass
class _PendingApplication:
    t: int
    application: str
    id: str


class _ProgramRun:
    """The simulation of one program. At most one event is pending: an application without its answer, or an outcome
    without its fate."""

    def __init__(self, simulated: SimulatedProgram, prefix: str) -> None:
        self._program, self._world, self._recorder, self._read = simulated
        self._prefix = prefix
        self._next = 0
        self._pending: _PendingApplication | None = None
        self._pending_outcome: str | None = None
        # A heap of (due, tie-breaker, outcome).
        self._delayed: list[tuple[int, int, Outcome]] = []
        self._numbers = count()
        self._now_ms = 0

    @property
    def done(self) -> bool:
        return not self.awaited and not self._delayed and self._next == self._world.people

    @property
    def awaited(self) -> str | None:
        return self._pending_outcome if self._pending is None else self._pending.id

    def is_rejected(self, application: str) -> bool:
        if not application.startswith(self._prefix):
            return False
        try:
            t = self._world.number(application.removeprefix(self._prefix))
        except ValueError:
            return False
        return 0 <= t < self._world.people and self._world.is_rejected(t)

    def next_events(self, now_ms: int, limit: int | None) -> Iterator[OutgoingEvent]:
        # Event time never goes back, even if the clock does: an outcome before its recourse would be dangling.
        self._now_ms = max(self._now_ms, now_ms)
        end = self._world.people if limit is None else min(limit, self._world.people)
        while not self.awaited:
            if self._delayed and (self._delayed[0][0] < self._next or self._next == self._world.people):
                yield self._publish_outcome(heapq.heappop(self._delayed)[2])
            elif self._next < end:
                yield self._publish_application()
            else:
                return

    def receive(self, event: ProgramEvent) -> None:
        match event:
            case Recourse() if not event.is_revision:
                self._on_answer(event.application, event.options)
            case NoRecourse():
                self._on_answer(event.application, ())
            case Reward() if event.outcome == self._pending_outcome:
                self._pending_outcome = None

    def _on_answer(self, application: str, options: Sequence[Option]) -> None:
        pending = self._pending
        if pending is None or pending.application != application:
            return
        self._pending = None
        suggestion = self._read(pending.t, options) if options else None
        self._recorder.record(pending.t, suggestion)
        outcome = self._world.outcome(pending.t, suggestion) if options else None
        if outcome is not None:
            name = self._prefix + outcome.application
            option = None if outcome.option is None else options[outcome.option].id
            event = Outcome(self._program, name, outcome.result, option)
            heapq.heappush(self._delayed, (outcome.due, next(self._numbers), event))

    def on_dead_letter(self, ids: set[str]) -> bool:
        """Whether the dead letter is of the pending event, which then gets no answer."""
        if self.awaited not in ids:
            return False
        self._pending = self._pending_outcome = None
        return True

    def _publish_application(self) -> OutgoingEvent:
        t = self._next
        self._next += 1
        name, features = self._world.application(t)
        name = self._prefix + name
        event = Application(self._program, name, dict(features))
        event_id = f"{self._program}/application/{name}"
        if self._world.is_rejected(t):
            self._pending = _PendingApplication(t, name, event_id)
        return OutgoingEvent(event, event_id, name.encode(), self._now_ms)

    def _publish_outcome(self, event: Outcome) -> OutgoingEvent:
        name = event.application
        self._pending_outcome = f"{self._program}/outcome/{name}"
        return OutgoingEvent(event, self._pending_outcome, name.encode(), self._now_ms)
