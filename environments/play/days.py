"""Runs by days, in event time: one step at a time for each program, and their days begin together.

class MyRun(DayRun):
    def _today(self):
        options = yield from self._apply(Application(self.program, "ada", features), is_approved=False)
        yield self._outcome("ada", is_improved=True, option="1")

Simulation([MyRun("loans", prefix="", total=200)])

So the order of the journal does not depend on the speed of anything. The last day is the one before the run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from typing import Any

from msgspec import Struct

from ...schemas.events import Application, Model, Option, Outcome
from ..figures.sections import RunProgress
from .simulation import (
    TOGETHER,
    OutgoingEvent,
    Run,
    SimulationStep,
    Steps,
    answer_to,
    fate_of,
    is_journaled,
    options_of,
)

DAY_MS = 86_400_000


class DayRun(Run, ABC):
    """The simulation of one program for ``total`` days. It receives lines of the journal too."""

    def __init__(self, program: str, prefix: str, total: int) -> None:
        super().__init__(program, prefix)
        self.total = total
        self.days = 0
        """The days that have begun."""
        self._time_ms = 0
        self.play(self._all_days())

    @abstractmethod
    def _today(self) -> Steps:
        """The steps of the day."""

    def _all_days(self) -> Steps:
        start_ms = 0
        for day in range(self.total):
            yield TOGETHER
            start_ms = start_ms or (self._now_ms // DAY_MS - self.total) * DAY_MS
            self.days, self._time_ms = day + 1, start_ms + day * DAY_MS
            yield from self._today()

    @property
    def day(self) -> int:
        """The number of the day, from 0."""
        return self.days - 1

    @property
    def served(self) -> RunProgress:
        """The days that have begun."""
        return RunProgress(self.days, self.total, f"day {self.days:,} of {self.total:,}")

    def _apply(
        self, event: Application, *, is_approved: bool
    ) -> Generator[SimulationStep, Any, Sequence[Option] | None]:
        """Let somebody apply; return the options of the answer, None for those who are approved.

        The step is done when the answer has been read; for those who are approved, whom nobody answers, when the
        application stands in the journal.
        """
        outgoing = self._outgoing(event, f"application/{event.application}", event.application)
        if is_approved:
            yield step_of(outgoing, is_journaled(outgoing.id))
            return None
        self.rejected.add(event.application)
        return options_of((yield step_of(outgoing, answer_to(event.application))))

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
