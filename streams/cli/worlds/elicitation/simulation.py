"""Simulates people who are asked before they are told anything, in lock-step with questions and recourse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from msgspec import Struct

from .....environments.truth import WeightWorld
from .....schemas.events import Answer, Application, Question
from ....durations import milliseconds
from ..lockstep import LockstepRun, SimulatedProgram
from ..simulation import AwaitedAnswer, SimulationStep, is_journaled
from .manners import QUESTIONS, Manner

NOT_OFFERED = "9"
"""No question has an option of this id."""


class Reply(AwaitedAnswer):
    """Waits for the next question to a person after the one of a number, or for the recourse."""

    def __init__(self, application: str, after: int = 0) -> None:
        super().__init__(application)
        self._after = after
        self.question: Question | None = None

    def is_read(self, event: Struct) -> bool:
        """Whether an event is the question or the recourse."""
        if isinstance(event, Question) and event.application == self._application and event.number > self._after:
            self.question = event
        return super().is_read(event) or self.question is not None


class ElicitationRun(LockstepRun):
    """The simulation of one program whose people answer in these ``manners``, by round, before they get a recourse.

    ``overdue`` is how long ago those have applied who miss the deadline: their application comes late, and their time
    is over soon. The others do not wait for it.
    """

    def __init__(
        self,
        simulated: SimulatedProgram,
        world: WeightWorld,
        manners: Sequence[Manner],
        overdue: timedelta,
        prefix: str,
    ) -> None:
        self._people, self._manners = world, manners
        self._overdue_ms = milliseconds(overdue)
        self._odd, self._silent = set[str](), list[Reply]()
        super().__init__(simulated, prefix)

    def on_dead_letter(self, ids: set[str]) -> bool:
        """Odd answers are meant to be refused."""
        return not ids & self._odd and super().on_dead_letter(ids)

    def receive(self, event: Struct) -> None:
        """Handle an event of the program, or a line of the journal."""
        for reply in self._silent:
            reply.is_read(event)
        super().receive(event)

    def _rejected(self, t: int, event: Application) -> Iterator[SimulationStep]:
        manner, name = self._manners[self._people.round_of(t)], event.application
        reply = Reply(name)
        yield self._step("application", event, reply.is_read, self._overdue_ms if manner.is_overdue else 0)
        if manner.is_overdue and reply.question is not None:
            self._silent.append(reply := Reply(name, after=QUESTIONS))
            self._delay(self._world.people, self._silence(t, name, manner, reply))
            return
        rest = self._talk(t, name, manner, reply)
        if manner.waits:
            self._delay(t + manner.waits, rest)
        else:
            yield from rest

    def _silence(self, t: int, name: str, manner: Manner, reply: Reply) -> Iterator[SimulationStep]:
        """What follows from the first question to somebody who misses its deadline."""
        if reply.options is None:
            yield SimulationStep(f"{self.program}/application/{name}", None, reply.is_read)
        yield from self._talk(t, name, manner, reply)

    def _talk(self, t: int, name: str, manner: Manner, reply: Reply) -> Iterator[SimulationStep]:
        """All questions to a person, and what follows from their recourse."""
        while (question := reply.question) is not None:
            number, ids = question.number, [option.id for option in question.options]
            place = self._people.pick(t, self._people.targets(t, question.options))
            picked = None if place is None or number > manner.answers else ids[place]
            is_odd, reply = manner.is_odd and number == 1, Reply(name, number)
            if is_odd:
                yield self._oddly(name, number, NOT_OFFERED)
            said = Answer(self.program, name, picked, number)
            yield self._step(f"answer-{number}", said, reply.is_read)
            if is_odd:
                for option in ids:
                    yield self._oddly(name, number, option)
        if manner.come_back:
            yield self._oddly(name, 1, "1")
        if reply.options is not None:
            yield from self._answered(t, name, reply.options)

    def _oddly(self, name: str, number: int, option: str) -> SimulationStep:
        """An answer that does not count, if it is not the one that was given before."""
        kind = f"answer-{number}-{option}"
        id = f"{self.program}/{kind}/{name}"
        self._odd.add(id)
        return self._step(kind, Answer(self.program, name, option, number), is_journaled(id))
