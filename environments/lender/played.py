"""The world of a lender as real ones are, and the two programs that serve its people.

One is told what follows from changes and reads the rows without a label. The other is what somebody gets who leaves
both out. Whoever carries an option out comes back in weeks, and is reported in a year. Everybody's chance is drawn for
the person and the attempt, so it is the same in programs with the same seed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from msgspec import Struct

from ...schemas.events import Application, Journaled
from ...streams.cli.display.words import percentage
from ...streams.errors import UsageError
from ...streams.programs.assembly import assemble
from ...streams.programs.spec_check import load_program_spec
from ...streams.settings import WorldSettings
from ..figures.recording import Recording, Summary
from ..figures.sections import Plot, PlotLine, Section, ShownWorld
from ..play.contract import Note, SimulatedWorld
from ..play.days import DayRun
from ..play.simulation import Simulation, SimulationStep, Steps
from ..rounds import Scoreboard, Worth
from .equations import LenderPeople
from .lender import Lender, OpenApplication, Report, StatedOption, taken_of, what_follows
from .oracle import Oracle
from .programs import PLAIN, TOLD, approves, file_of, make_programs
from .settings import SEEN, LenderSetting

ARRIVAL_DAYS = 730
"""Newcomers apply evenly on the first of the days: those of the second year when outcomes of the first are known."""
LAST_DAYS = 460
"""The days after that, until nearly all are reported."""
WEEK_DAYS, WEEKLY_LOANS = 7, 8
"""Every week the lender reports so many loans of its file, of people who have no recourse. Without them most partitions
of the outcomes would stay empty for a year, and as workers send no ticks here, no window would close until then."""


@dataclass
class LenderAnswers:
    """The options of each rejected newcomer by number, and of those who came back with their option carried out how
    many there were and how many the model rejected."""

    newcomers: int
    stated: dict[int, Sequence[StatedOption]] = field(default_factory=dict)
    returned: int = 0
    rejected: int = 0


class LenderRun(DayRun):
    """One program, its model, its newcomers, and whether each loan of its file was repaid.

    ``recorder`` records what each rejected newcomer takes. ``prefix`` is put before every application's and
    applicant's id.
    """

    def __init__(
        self,
        program: str,
        lender: Lender,
        newcomers: LenderPeople,
        loans: Sequence[bool],
        setting: LenderSetting,
        seed: int,
        recorder: Scoreboard,
        prefix: str = "",
    ) -> None:
        self._lender, self._newcomers, self._loans_of_file = lender, newcomers, loans
        self._setting, self._seed, self._recorder = setting, seed, recorder
        self.answers = LenderAnswers(len(newcomers.hidden))
        """What people were told."""
        self._due: defaultdict[int, list[OpenApplication | Report]] = defaultdict(list)
        super().__init__(program, prefix, ARRIVAL_DAYS + LAST_DAYS)

    def _today(self) -> Steps:
        if self.day % WEEK_DAYS == 0:
            yield self._loans(self.day // WEEK_DAYS * WEEKLY_LOANS)
        for due in self._due.pop(self.day, ()):
            if isinstance(due, OpenApplication):
                yield from self._arrive(due)
            else:
                yield self._outcome(self._prefix + due.application, is_improved=due.helped, option=due.option)
        people, number = self._newcomers, self.answers.newcomers
        first, last = (min(-(-number * day // ARRIVAL_DAYS), number) for day in (self.day, self.day + 1))
        for newcomer in range(first, last):
            yield from self._arrive(OpenApplication(newcomer, 0, people.only(slice(newcomer, newcomer + 1))))

    def _loans(self, first: int) -> SimulationStep:
        """Report the loans from this one on. The step is done when all stand in the journal."""
        loans = self._loans_of_file
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

    def _arrive(self, case: OpenApplication) -> Steps:
        lender, columns = self._lender, case.person.columns
        ([features], [is_approved]) = lender.rows(columns), lender.accepts(columns).tolist()
        previous = None if case.previous is None else self._prefix + case.previous
        applicant = f"{self._prefix}person-{case.newcomer}"
        event = Application(self.program, self._prefix + case.id, dict(features), applicant, previous)
        options = yield from self._apply(event, is_approved=is_approved)
        if case.returns:
            self.answers.returned += 1
            self.answers.rejected += not is_approved
        if options is not None:
            self._answered(case, lender.stated_options(case.person, options))

    def _answered(self, case: OpenApplication, options: Sequence[StatedOption]) -> None:
        taken = taken_of(options)
        if not case.returns:
            self.answers.stated[case.newcomer] = options
            self._recorder.record(case.newcomer, taken)
        if taken is not None:
            random = np.random.default_rng([self._seed, case.newcomer, case.returns])
            for days, follows in what_follows(self._lender, self._setting, case, taken, random):
                self._due[self.day + int(days)].append(follows)


MOVING = 40
"""The options of which each point of a plot is the mean."""
HALVES = {"first": "1st", "second": "2nd"}
NAMES = (
    "people",
    "without an option",
    "it helps: believed",
    "it helps: true",
    "carried out: believed",
    "carried out: true",
    "better off: believed",
    "better off: true",
    "true help in interval",
)
"""The rows of the table."""
LEGEND = (
    "told: the spec tells what follows from changes and reads rows without a label; plain: neither",
    "1st, 2nd: halves of the newcomers, who apply in two years; outcomes are known about a year after a recourse",
    "it helps: whoever carries it out; better off: carried out, and it helped",
)


class Pair(Struct, frozen=True):
    """A mean probability as it was stated and as it is; None where there is none."""

    believed: float | None
    true: float | None

    @property
    def cells(self) -> Sequence[str]:
        """Both as text."""
        return percentage(self.believed), percentage(self.true)


class Half(Struct, frozen=True):
    """The newcomers of the first or the second half of the people whom the model rejects.

    ``helped`` and ``carried_out`` are means over the options that they take, ``better_off`` over all of them: a person
    without an option, whose share is ``none``, counts 0. ``in_interval`` is the share of all options told with an
    interval that holds the true help.
    """

    people: int
    none: float | None
    helped: Pair
    carried_out: Pair
    better_off: Pair
    in_interval: float | None

    @classmethod
    def from_options(cls, stated_options: Sequence[Sequence[StatedOption]]) -> Half:
        """The figures of the options of some people."""
        number, taken = len(stated_options), [option for option in map(taken_of, stated_options) if option is not None]
        stated = [(choice.stated_help, choice.stated_execution) for choice in taken if choice.stated_help is not None]
        intervals = [
            (choice.help, *choice.interval)
            for options in stated_options
            for choice in options
            if choice.interval is not None
        ]
        return cls(
            number,
            _mean([not options for options in stated_options], number),
            Pair(
                _mean([help for help, _ in stated], len(stated)), _mean([choice.help for choice in taken], len(taken))
            ),
            Pair(
                _mean([choice.stated_execution for choice in taken], len(taken)),
                _mean([choice.execution for choice in taken], len(taken)),
            ),
            Pair(
                _mean([help * acts for help, acts in stated], number) if len(stated) == len(taken) else None,
                _mean([choice.reward for choice in taken], number),
            ),
            _mean([low <= help <= high for help, low, high in intervals], len(intervals)),
        )

    @property
    def cells(self) -> Sequence[str]:
        """Its figures as text, in the order of ``NAMES``."""
        pairs = (*self.helped.cells, *self.carried_out.cells, *self.better_off.cells)
        return (f"{self.people:,}", percentage(self.none), *pairs, percentage(self.in_interval))


class ProgramFigures(Struct, frozen=True):
    """Both halves of a program's people, and of those who came back with their option carried out how many there were
    (``returned``) and how many of them the model ``rejected``."""

    first: Half
    second: Half
    returned: int
    rejected: int


def shown(runs: Sequence[LenderRun], policies: Mapping[str, str]) -> ShownWorld:
    """What was believed and what was true, in both halves of each program. ``policies`` are by program."""
    by_policy = {policies[run.program]: _figures(run.answers) for run in runs}
    halves = {
        f"{policy}, {short}": getattr(figures, half)
        for policy, figures in by_policy.items()
        for half, short in HALVES.items()
    }
    rows = [("rejected by the model", *halves), *zip(NAMES, *(half.cells for half in halves.values()), strict=True)]
    conclusions = [
        f"{policy}: of {figures.returned} who came back with their option carried out, {figures.rejected} were rejected"
        for policy, figures in by_policy.items()
    ]
    plots = [
        Plot(
            f"{title}: mean of {MOVING} people",
            [
                line
                for group, run in enumerate(runs)
                for line in _lines(run.answers.stated, policies[run.program], group, name)
            ],
            "newcomer",
            highest=1.0,
        )
        for title, name in (("it helps who carries it out", "help"), ("it is carried out", "execution"))
    ]
    data = {"lender": by_policy, "days": runs[0].days}
    title, lines = "What was believed, and what was true", [*conclusions, *LEGEND]
    helped = ", ".join(
        f"{policy} {' / '.join(figures.first.helped.cells)}, then {' / '.join(figures.second.helped.cells)}"
        for policy, figures in by_policy.items()
    )
    section = Section(title, rows, lines, plots, data)
    return ShownWorld(runs[0].served, f"help believed / true: {helped}", [section], conclusions)


def _lines(options_of: Mapping[int, Sequence[StatedOption]], policy: str, group: int, name: str) -> Iterator[PlotLine]:
    taken = {number: option for number in sorted(options_of) if (option := taken_of(options_of[number])) is not None}
    for kind, attribute in (("believed", f"stated_{name}"), ("true", name)):
        values = [(number, getattr(one, attribute)) for number, one in taken.items()]
        points = [(number, value) for number, value in values if value is not None]
        x, y = zip(*points, strict=True) if points else ((), ())
        means = [float(np.mean(y[max(0, end - MOVING) : end])) for end in range(1, len(y) + 1)]
        yield PlotLine(f"{policy}, {kind}", x, means, group, dotted=kind == "true")


def _figures(answers: LenderAnswers) -> ProgramFigures:
    """The figures of a program; the halves are of its newcomers in the order in which they apply."""
    middle = answers.newcomers / 2
    first, second = (
        Half.from_options([options for who, options in answers.stated.items() if (who < middle) is is_first])
        for is_first in (True, False)
    )
    return ProgramFigures(first, second, answers.returned, answers.rejected)


def _mean(values: Sequence[float], number: int) -> float | None:
    """The sum of some values by a number of people or options; None of nobody."""
    return float(np.sum(values)) / number if number else None


NAME = "lender"


class LenderWorld(SimulatedWorld):
    """Two programs with the same people. ``people`` are the newcomers of each."""

    name: ClassVar[str] = NAME
    in_words: ClassVar[str] = "a lender with labels of approved people only, late outcomes and many measures"
    default_policies: ClassVar[tuple[str, ...] | None] = ("stages", "residual")
    default_people: ClassVar[int | None] = 250
    programs: ClassVar[tuple[str, ...]] = (TOLD, PLAIN)
    tick_seconds: ClassVar[float | None] = 0.0  # the days of the world are in the past
    reads_journal: ClassVar[bool] = True
    setting: ClassVar[LenderSetting] = LenderSetting(
        measures=3, cause=SEEN, approved_only=True, report_days=(330, 400), rows=2000
    )
    """What the world is like."""

    def __init__(self, settings: WorldSettings, note: Note) -> None:
        super().__init__(settings, note)
        if self.policies != self.default_policies:
            raise UsageError(f"--policies: the programs of --world {NAME} have choices of their own, leave it out")
        if not self.people:
            raise UsageError(f"--people 0: the world {NAME} ends, give a number of newcomers")
        self._lenders: dict[str, Lender] = {}
        self._newcomers: LenderPeople | None = None
        days = f"{ARRIVAL_DAYS + LAST_DAYS:,}"
        self.facts = {
            "newcomers per program": f"{self.people:,}",
            "days": days,
            "rows with a label": f"{self.setting.rows:,}",
        }
        self.serves = f"{days} days"

    def write(self, folder: Path) -> Mapping[str, Path]:
        """Draft and train the programs."""
        self.note("writing the lender's file, drafting two specs of it, and training ...")
        return make_programs(self.setting, folder, self.settings.seed)

    def scoreboards(self, specs: Mapping[str, Path], every: int) -> Mapping[str, Scoreboard]:
        """By what is true of the option that a person takes."""
        equations = self.setting.equations()
        for name, path in specs.items():
            program = assemble(load_program_spec(path))
            self._lenders[name] = Lender(equations, program.spec.features, partial(approves, program))
        self._newcomers = self._drawn(self._lenders[TOLD])
        worth = _Worth(self._lenders[TOLD], self._newcomers)
        return {name: Scoreboard(worth, every) for name in specs}

    def play(self, specs: Mapping[str, Path], scoreboards: Mapping[str, Scoreboard], prefix: str = "") -> Simulation:
        """The same newcomers in both programs."""
        assert self._newcomers is not None, "scoreboards come first"
        labels, seed = file_of(self.setting, self.settings.seed)[1], self.settings.seed
        loans = [bool(label) for label in labels.tolist() if not math.isnan(label)]
        self._runs = [
            LenderRun(name, lender, self._newcomers, loans, self.setting, seed, scoreboards[name], prefix)
            for name, lender in self._lenders.items()
        ]
        return Simulation(self._runs)

    def show(self, recording: Recording, summary: Summary) -> ShownWorld:
        """What was believed, and what was true."""
        return shown(self._runs, {name: self.policy_of(name) for name in self._lenders})

    def _drawn(self, lender: Lender) -> LenderPeople:
        """Newcomers of whom the model, which is the same in both programs, approves about ``approved_share``."""
        random, number = np.random.default_rng([self.settings.seed, 1]), self.people
        groups = [lender.newcomers(number, random, accepted=accepted) for accepted in (False, True)]
        chosen = number * (random.random(number) < self.settings.approved_share) + np.arange(number)
        return LenderPeople(*map(np.concatenate, zip(*groups, strict=True))).only(chosen)


class _Worth:
    """The true worth of the option that a newcomer takes, for a scoreboard.

    The oracle searches changes of one or two things among those that both programs may ask for.
    """

    def __init__(self, lender: Lender, newcomers: LenderPeople) -> None:
        self._best, self._newcomers = Oracle(lender), newcomers
        self._found: dict[int, float] = {}

    def oracle(self, t: int) -> float:
        """The reward of the best option of newcomer t."""
        if t not in self._found:
            self._found[t] = self._best(self._newcomers.only(slice(t, t + 1)))
        return self._found[t]

    def worth(self, t: int, taken: StatedOption) -> Worth:
        """What is true of it."""
        return Worth(taken.reward, taken.help, taken.cost)
