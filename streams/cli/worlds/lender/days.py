"""Simulates the people of a lender: whoever carries an option out comes back in weeks, and is reported in a year.

    simulation = LenderSimulation([ServedLender("loans", lender, newcomers, setting, seed, recorder)])
    simulation.answers["loans"].told[0]                                    # what the first newcomer was told

Everybody's chance is drawn for the person and the attempt, so it is the same in programs with the same seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from .....environments.lender import Case, Lender, People, Report, Setting, Told, taken_of, what_follows
from .....environments.rounds import Scoreboard
from .....schemas.events import Application, Journaled
from ..days import DayRun, DaysSimulation
from ..simulation import SimulationStep

ARRIVAL_DAYS = 730
"""Newcomers apply evenly on the first of the days: those of the second year when outcomes of the first are known."""
LAST_DAYS = 460
"""The days after that, until nearly all are reported."""
WEEK_DAYS, WEEKLY_LOANS = 7, 8
"""Every week the lender reports so many loans of its file, of people who have no recourse. Without them most partitions
of the outcomes would stay empty for a year, and as workers send no ticks here, no window would close until then."""


class ServedLender(NamedTuple):
    """A program, its model, its newcomers, and whether each loan of its file was repaid.

    ``recorder`` records what each rejected newcomer takes.
    """

    program: str
    lender: Lender
    newcomers: People
    loans: Sequence[bool]
    setting: Setting
    seed: int
    recorder: Scoreboard


@dataclass
class Answers:
    """The options of each rejected newcomer by number, and of those who came back with their option carried out how
    many there were and how many the model rejected."""

    newcomers: int
    told: dict[int, Sequence[Told]] = field(default_factory=dict)
    returned: int = 0
    rejected: int = 0


class LenderSimulation(DaysSimulation):
    """Plays all days for each program. ``prefix`` is put before every application's and applicant's id."""

    def __init__(self, served: Sequence[ServedLender], prefix: str = "") -> None:
        runs = [_Run(own, prefix) for own in served]
        super().__init__(runs, ARRIVAL_DAYS + LAST_DAYS)
        self.answers: Mapping[str, Answers] = {run.program: run.answers for run in runs}
        """What people were told, by program."""


class _Run(DayRun):
    """The simulation of one program."""

    def __init__(self, served: ServedLender, prefix: str) -> None:
        super().__init__(served.program, prefix)
        self._served = served
        self.answers = Answers(len(served.newcomers.hidden))
        self._due: defaultdict[int, list[Case | Report]] = defaultdict(list)

    def _today(self) -> Iterator[SimulationStep]:
        if self._day % WEEK_DAYS == 0:
            yield self._loans(self._day // WEEK_DAYS * WEEKLY_LOANS)
        for due in self._due.pop(self._day, ()):
            if isinstance(due, Case):
                yield from self._arrive(due)
            else:
                yield self._outcome(self._prefix + due.application, is_improved=due.helped, option=due.option)
        people, number = self._served.newcomers, self.answers.newcomers
        first, last = (min(-(-number * day // ARRIVAL_DAYS), number) for day in (self._day, self._day + 1))
        for newcomer in range(first, last):
            yield from self._arrive(Case(newcomer, 0, people.only(slice(newcomer, newcomer + 1))))

    def _loans(self, first: int) -> SimulationStep:
        """Report the loans from this one on. The step is done when all stand in the journal."""
        loans = self._served.loans
        events = [
            self._outcome_event(f"{self._prefix}loan-{number}", is_improved=loans[number % len(loans)], option=None)
            for number in range(first, first + WEEKLY_LOANS)
        ]
        missing = {event.id for event in events}

        def is_over(event: Struct) -> bool:
            if isinstance(event, Journaled):
                missing.discard(event.id)
            return not missing

        return SimulationStep(events[-1].id, lambda: events, is_over)

    def _arrive(self, case: Case) -> Iterator[SimulationStep]:
        lender, columns = self._served.lender, case.person.columns
        ([features], [is_approved]) = lender.rows(columns), lender.accepts(columns).tolist()
        previous = None if case.previous is None else self._prefix + case.previous
        applicant = f"{self._prefix}person-{case.newcomer}"
        event = Application(self.program, self._prefix + case.id, dict(features), applicant, previous)
        options = yield from self._apply(event, is_approved=is_approved)
        if case.returns:
            self.answers.returned += 1
            self.answers.rejected += not is_approved
        if options is not None:
            self._answered(case, lender.told(case.person, options))

    def _answered(self, case: Case, told: Sequence[Told]) -> None:
        _, lender, _, _, setting, seed, recorder = self._served
        taken = taken_of(told)
        if not case.returns:
            self.answers.told[case.newcomer] = told
            recorder.record(case.newcomer, taken)
        if taken is not None:
            random = np.random.default_rng([seed, case.newcomer, case.returns])
            for days, follows in what_follows(lender, setting, case, taken, random):
                self._due[self._day + int(days)].append(follows)
