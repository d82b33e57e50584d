"""Simulates worlds against the pipeline in lock-step: the journal's order is the order of the protocol's rounds.

simulation = Simulation([LockstepRun(SimulatedProgram("credit-linucb", world, Scoreboard(world)))])
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from ...schemas.events import Answer, Application, Option, Outcome, Value
from ..improvement import DueOutcome
from ..rounds import Scoreboard
from .simulation import OutgoingEvent, Run, SimulationStep, Steps, answer_to, fate_of, is_journaled, options_of


class LockstepWorld(Protocol):
    """People who apply, numbered t = 0, 1, ..., and the outcomes of what is suggested to them.

    What a suggestion is to this world is up to the ``read`` of its ``SimulatedProgram``.
    """

    @property
    def people(self) -> int:
        """How many applications there are."""

    def application(self, t: int) -> tuple[str, Mapping[str, Value]]:
        """The id and the raw features of application t."""

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
    ``pick(t, suggestion)`` is the index of the option that the person says they would take, None for none; without it
    nobody says anything.
    """

    program: str
    world: LockstepWorld
    recorder: Scoreboard
    read: Callable[[int, Sequence[Option]], Any] = first_candidate
    pick: Callable[[int, Any], int | None] | None = None


class LockstepRun(Run):
    """The simulation of one program: an application and its answer, or an outcome and its fate.

    ``prefix`` is put before every application's id, so that a world can be simulated again on the same topics.
    """

    def __init__(self, simulated: SimulatedProgram, prefix: str = "") -> None:
        program, self._world, self._recorder, self._read, self._pick = simulated
        super().__init__(program, prefix)
        # A heap of (due, tie-breaker, what then happens).
        self._delayed: list[tuple[int, int, Steps]] = []
        self._numbers = count()
        self.play(self._rounds())

    def on_dead_letter(self, ids: set[str]) -> bool:
        """Go on without the effect of an event that was refused."""
        is_ours = super().on_dead_letter(ids)
        if is_ours:
            self._go_on()
        return is_ours

    def _rounds(self) -> Steps:
        for t in range(self._world.people):
            while self._delayed and self._delayed[0][0] < t:
                yield from heapq.heappop(self._delayed)[2]
            yield from self._apply(t)
        while self._delayed:
            yield from heapq.heappop(self._delayed)[2]

    def _apply(self, t: int) -> Steps:
        name, features = self._world.application(t)
        name = self._prefix + name
        event = Application(self.program, name, dict(features))
        if self._world.is_rejected(t):
            self.rejected.add(name)
            yield from self._rejected(t, event)
        else:
            yield self._step("application", event, None)

    def _rejected(self, t: int, event: Application) -> Steps:
        """An application that the world's model rejects, and what follows from it at once."""
        answer = yield self._step("application", event, answer_to(event.application))
        if answer is not None:  # no dead letter
            yield from self._answered(t, event.application, options_of(answer))

    def _answered(self, t: int, name: str, options: Sequence[Option]) -> Steps:
        """The steps that follow from the options of a recourse; none of them is a recourse of nothing."""
        suggestion = self._read(t, options) if options else None
        self._recorder.record(t, suggestion)
        if options and self._pick is not None:
            place = self._pick(t, suggestion)
            said = Answer(self.program, name, None if place is None else options[place].id)
            yield self._step("answer", said, is_journaled(f"{self.program}/answer/{name}"))
        outcome = self._world.outcome(t, suggestion) if options else None
        if outcome is not None:
            option = None if outcome.option is None else options[outcome.option].id
            due = Outcome(self.program, self._prefix + outcome.application, outcome.result, option)
            fate = fate_of(f"{self.program}/outcome/{due.application}")
            self._delay(outcome.due, (step for step in [self._step("outcome", due, fate)]))

    def _delay(self, due: int, steps: Steps) -> None:
        """Play steps before the application ``due`` + 1."""
        heapq.heappush(self._delayed, (due, next(self._numbers), steps))

    def _step(
        self,
        kind: str,
        event: Application | Answer | Outcome,
        is_over: Callable[[Struct], bool] | None,
        ago_ms: int = 0,
    ) -> SimulationStep:
        id, key = f"{self.program}/{kind}/{event.application}", event.application.encode()
        return SimulationStep(
            id,
            lambda: [OutgoingEvent(event, id, key, self._now_ms - ago_ms)],
            is_over,
            isinstance(event, Application),
        )
