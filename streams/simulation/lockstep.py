"""Plays a world against the pipeline, in lock-step: the journal's order is the order of the protocol's rounds.

    simulation = Simulation([Play("credit-linucb", world, Scoreboard(world))])
    while not simulation.done:
        for event in simulation.outgoing(now_ms): ...      # publish it
        simulation.receive(output)                         # everything read from the output topics, repeats too

Pure: no Kafka and no clock. Several programs are played at once, and none waits for another.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, Protocol

import msgspec

from ...schemas.events import Application, DeadLetter, NoRecourse, Outcome, Output, Recourse, Result, Reward, Value
from ...schemas.headers import CE_ID, cloud_event_headers
from ...schemas.kinds import ce_type
from ..records import Headers
from ..topics import Topics

SOURCE = "onward/simulation"
_encode = msgspec.json.Encoder().encode


class Due(Protocol):
    """An outcome that will be known: it is published when application number ``due`` has its answer."""

    @property
    def application(self) -> str:
        """The id of the application."""

    @property
    def result(self) -> Result:
        """What happened."""

    @property
    def due(self) -> int:
        """The number of the application after whose answer it becomes known."""


class World(Protocol):
    """People who apply, numbered t = 0, 1, ..., and what comes of the candidate k that is suggested to them."""

    @property
    def people(self) -> int:
        """How many applications there are."""

    def application(self, t: int) -> tuple[str, Mapping[str, Value]]:
        """The id and the raw features of application t."""

    def number(self, application: str) -> int:
        """The t of an application's id; raise ``ValueError`` when it is not one."""

    def is_rejected(self, t: int) -> bool:
        """Whether the world's model rejects application t."""

    def outcome(self, t: int, k: int) -> Due | None:
        """What comes of suggesting candidate k to application t; None when nothing will ever be heard."""


class Board(Protocol):
    """Who keeps the score."""

    def record(self, t: int, k: int | None) -> None:
        """Count the suggestion of candidate k (None: nothing) to application t."""


class Play(NamedTuple):
    """A program, the world it serves, and its score."""

    program: str
    world: World
    board: Board


class Outgoing(NamedTuple):
    """An event to publish. ``key`` is the record's key: the application's id."""

    event: Application | Outcome
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
        return topics.applications if isinstance(self.event, Application) else topics.outcomes


class Simulation:
    """Plays one world per program.

    ``prefix`` is put before every application's id, so that a world can be played again on the same topics.
    """

    def __init__(self, plays: Sequence[Play], prefix: str = "") -> None:
        self._games = {play.program: _Game(play, prefix) for play in plays}
        self.refusal: DeadLetter | None = None
        """The last dead letter of an event that was awaited."""

    @property
    def done(self) -> bool:
        """Whether every application was answered and every outcome met its fate."""
        return all(game.done for game in self._games.values())

    @property
    def awaited(self) -> tuple[str, ...]:
        """The ids of the events whose answers or fates must be read before their programs can go on."""
        return tuple(game.awaited for game in self._games.values() if game.awaited)

    def rejects(self, program: str, application: str) -> bool:
        """Whether an application is one of ours that its world's model rejects."""
        game = self._games.get(program)
        return game is not None and game.rejects(application)

    def outgoing(self, now_ms: int, until: int | None = None) -> list[Outgoing]:
        """What can be published now, each program's in the order given; of applications only those below ``until``."""
        return [event for game in self._games.values() for event in game.outgoing(now_ms, until)]

    def receive(self, event: Output) -> None:
        """Take note of what was published by the pipeline; what is not awaited, repeats above all, is ignored."""
        if isinstance(event, DeadLetter):
            names = {content.decode(errors="replace") for name, content in event.headers if name == CE_ID}
            if any(refused.refused(names) for refused in self._games.values()):
                self.refusal = event
            return
        game = self._games.get(event.program)
        if game is None:
            return
        match event:
            case Recourse():
                game.answered(event.application, int(event.options[0].candidate))
            case NoRecourse():
                game.answered(event.application, None)
            case Reward():
                game.told(event.outcome)


@dataclass
class _Question:
    t: int
    application: str
    id: str


class _Game:
    """One program's play. At most one event is under way: an application to be answered or an outcome to be told."""

    def __init__(self, play: Play, prefix: str) -> None:
        self._program, self._world, self._board = play
        self._prefix = prefix
        self._next = 0
        self._asked: _Question | None = None
        self._outcome: str | None = None
        self._due: list[tuple[int, int, Due]] = []
        self._numbers = count()
        self._now_ms = 0

    @property
    def done(self) -> bool:
        return not self.awaited and not self._due and self._next == self._world.people

    @property
    def awaited(self) -> str | None:
        return self._outcome if self._asked is None else self._asked.id

    def rejects(self, application: str) -> bool:
        if not application.startswith(self._prefix):
            return False
        try:
            t = self._world.number(application.removeprefix(self._prefix))
        except ValueError:
            return False
        return 0 <= t < self._world.people and self._world.is_rejected(t)

    def outgoing(self, now_ms: int, until: int | None) -> Iterator[Outgoing]:
        # Event time never goes back, even if the clock does: an outcome before its recourse would be dangling.
        self._now_ms = max(self._now_ms, now_ms)
        end = self._world.people if until is None else min(until, self._world.people)
        while not self.awaited:
            if self._due and (self._due[0][0] < self._next or self._next == self._world.people):
                yield self._publish_outcome(heapq.heappop(self._due)[2])
            elif self._next < end:
                yield self._publish_application()
            else:
                return

    def answered(self, application: str, k: int | None) -> None:
        asked = self._asked
        if asked is None or asked.application != application:
            return
        self._asked = None
        self._board.record(asked.t, k)
        outcome = None if k is None else self._world.outcome(asked.t, k)
        if outcome is not None:
            heapq.heappush(self._due, (outcome.due, next(self._numbers), outcome))

    def told(self, outcome: str | None) -> None:
        if outcome == self._outcome:
            self._outcome = None

    def refused(self, names: set[str]) -> bool:
        """A dead letter, of our own event? Then there will be no answer, and the play goes on."""
        if self.awaited not in names:
            return False
        self._asked = self._outcome = None
        return True

    def _publish_application(self) -> Outgoing:
        t = self._next
        self._next += 1
        name, features = self._world.application(t)
        name = self._prefix + name
        event = Application(self._program, name, dict(features))
        identity = f"{self._program}/application/{name}"
        if self._world.is_rejected(t):
            self._asked = _Question(t, name, identity)
        return Outgoing(event, identity, name.encode(), self._now_ms)

    def _publish_outcome(self, due: Due) -> Outgoing:
        name = self._prefix + due.application
        event = Outcome(self._program, name, due.result)
        self._outcome = f"{self._program}/outcome/{name}"
        return Outgoing(event, self._outcome, name.encode(), self._now_ms)
