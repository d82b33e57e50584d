"""Simulations by days, in event time: one step at a time for each program, and their days begin together.

class MyRun(DayRun):
    def _today(self):
        options = yield from self._apply(Application(self.program, "ada", features), is_approved=False)
        yield self._outcome("ada", is_improved=True, option="1")

DaysSimulation([MyRun("loans", prefix="")], days=200)

So the order of the journal does not depend on the speed of anything. The last day is the one before the run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence

from msgspec import Struct

from ...schemas.events import Application, Model, Option, Outcome
from ..figures.sections import Served
from .simulation import AwaitedAnswer, OutgoingEvent, Run, Simulation, SimulationStep, fate_of, is_journaled

DAY_MS = 86_400_000


class DayRun(Run, ABC):
    """The simulation of one program. It receives lines of the journal too."""

    def __init__(self, program: str, prefix: str) -> None:
        super().__init__(program, prefix)
        self._day = self._time_ms = 0
        self._rejected: set[str] = set()

    @abstractmethod
    def _today(self) -> Iterator[SimulationStep]:
        """The steps of the day."""

    def begin(self, day: int, time_ms: int) -> None:
        """Play a day that begins at this event time."""
        self._day, self._time_ms = day, time_ms
        self.play(self._today())

    def is_rejected(self, application: str) -> bool:
        """Whether somebody who has applied is rejected."""
        return application in self._rejected

    def _apply(
        self, event: Application, *, is_approved: bool
    ) -> Generator[SimulationStep, None, Sequence[Option] | None]:
        """Let somebody apply; return the options of the answer, None for those who are approved.

        The step is done when the answer has been read; for those who are approved, whom nobody answers, when the
        application stands in the journal.
        """
        outgoing = self._outgoing(event, f"application/{event.application}", event.application)
        if is_approved:
            yield step_of(outgoing, is_journaled(outgoing.id))
            return None
        self._rejected.add(event.application)
        answer = AwaitedAnswer(event.application)
        yield step_of(outgoing, answer.is_read)
        return answer.options or ()

    def _outcome(self, application: str, *, is_improved: bool, option: str | None) -> SimulationStep:
        """Report an outcome. The step is done when its fate has been read."""
        outgoing = self._outcome_event(application, is_improved=is_improved, option=option)
        return step_of(outgoing, fate_of(outgoing.id))

    def _outcome_event(self, application: str, *, is_improved: bool, option: str | None) -> OutgoingEvent:
        event = Outcome(self.program, application, "improved" if is_improved else "not_improved", option)
        return self._outgoing(event, f"outcome/{application}", application)

    def _outgoing(self, event: Application | Outcome | Model, id: str, key: str) -> OutgoingEvent:
        # No two events of a program have one event time: it shows their order.
        self._time_ms += 1
        return OutgoingEvent(event, f"{self.program}/{id}", key.encode(), self._time_ms)


def step_of(event: OutgoingEvent, is_over: Callable[[Struct], bool]) -> SimulationStep:
    """The step of one event."""
    return SimulationStep(event.id, lambda: [event], is_over, isinstance(event.event, Application))


class DaysSimulation(Simulation):
    """Plays ``total`` days for each program."""

    def __init__(self, runs: Sequence[DayRun], total: int) -> None:
        super().__init__(runs)
        self._days_of = runs
        self.total = total
        self._start_ms: int | None = None
        self.days = 0
        """The days that have begun."""

    @property
    def served(self) -> Served:
        """The days that have begun."""
        return Served(self.days, self.total, f"day {self.days:,} of {self.total:,}")

    @property
    def done(self) -> bool:
        """Whether every day is over."""
        return self.days == self.total and super().done

    def next_events(self, now_ms: int, limit: int | None = None) -> list[OutgoingEvent]:
        """The events to publish now; first the next day begins where all programs are done with the last one."""
        if self._start_ms is None:
            self._start_ms = (now_ms // DAY_MS - self.total) * DAY_MS
        while super().done and self.days < self.total:
            for run in self._days_of:
                run.begin(self.days, self._start_ms + self.days * DAY_MS)
            self.days += 1
        return super().next_events(now_ms, limit)
