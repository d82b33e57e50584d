"""Figures of a lender: what was believed of the options that people take, and what was true of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from .....environments.lender import Told, taken_of
from ...display.words import percentage
from ..contract import Figures
from ..run_stats import Summary
from ..sections import Line, Plot, Section, Served
from .days import Answers, LenderSimulation

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
    def of(cls, told: Sequence[Sequence[Told]]) -> Half:
        """That of the options of some people."""
        number, taken = len(told), [option for option in map(taken_of, told) if option is not None]
        stated = [(one.stated_help, one.stated_execution) for one in taken if one.stated_help is not None]
        intervals = [(one.help, *one.interval) for own in told for one in own if one.interval is not None]
        return cls(
            number,
            _mean([not own for own in told], number),
            Pair(_mean([help for help, _ in stated], len(stated)), _mean([one.help for one in taken], len(taken))),
            Pair(
                _mean([one.stated_execution for one in taken], len(taken)),
                _mean([one.execution for one in taken], len(taken)),
            ),
            Pair(
                _mean([help * acts for help, acts in stated], number) if len(stated) == len(taken) else None,
                _mean([one.reward for one in taken], number),
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


class LenderOwn(Struct, frozen=True):
    """The fields of a lender in ``--json``; ``lender`` is by policy, and ``days`` have begun."""

    lender: Mapping[str, ProgramFigures]
    days: int


class LenderFigures(Figures):
    """What was believed and what was true, in both halves of each program. ``policies`` are by program."""

    def __init__(self, simulation: LenderSimulation, policies: Mapping[str, str]) -> None:
        super().__init__(simulation.total)
        self._simulation, self._policies = simulation, policies

    def own(self) -> LenderOwn:
        """The figures of both programs, and the days."""
        answers = self._simulation.answers
        figures = {policy: _figures(answers[program]) for program, policy in self._policies.items()}
        return LenderOwn(figures, self._simulation.days)

    def served(self, summary: Summary) -> Served:
        """The days that have begun."""
        days = self._simulation.days
        return Served(days, self.total, f"day {days:,} of {self.total:,}")

    def line(self, summary: Summary) -> str:
        """How probably options help, by half."""
        return "help believed / true: " + ", ".join(
            f"{policy} {' / '.join(own.first.helped.cells)}, then {' / '.join(own.second.helped.cells)}"
            for policy, own in self.own().lender.items()
        )

    def sections(self) -> Sequence[Section]:
        """A column for each program and half, lines on those who came back, and plots over people."""
        own = self.own().lender
        halves = {
            f"{policy}, {short}": getattr(one, half) for policy, one in own.items() for half, short in HALVES.items()
        }
        rows = [("rejected by the model", *halves)]
        rows += zip(NAMES, *(half.cells for half in halves.values()), strict=True)
        plots = [self._plot("it helps who carries it out", "help"), self._plot("it is carried out", "execution")]
        return [Section("What was believed, and what was true", rows, [*self.conclusions(), *LEGEND], plots)]

    def conclusions(self) -> Sequence[str]:
        """A line for each program."""
        return [
            f"{policy}: of {one.returned} who came back with their option carried out, {one.rejected} were rejected"
            for policy, one in self.own().lender.items()
        ]

    def _plot(self, title: str, name: str) -> Plot:
        lines = [line for group, program in enumerate(self._policies) for line in self._lines(program, group, name)]
        return Plot(f"{title}: mean of {MOVING} people", lines, "newcomer", highest=1.0)

    def _lines(self, program: str, group: int, name: str) -> Iterator[Line]:
        told = self._simulation.answers[program].told
        taken = {number: option for number in sorted(told) if (option := taken_of(told[number])) is not None}
        for kind, attribute in (("believed", f"stated_{name}"), ("true", name)):
            values = [(number, getattr(one, attribute)) for number, one in taken.items()]
            points = [(number, value) for number, value in values if value is not None]
            x, y = zip(*points, strict=True) if points else ((), ())
            means = [float(np.mean(y[max(0, end - MOVING) : end])) for end in range(1, len(y) + 1)]
            yield Line(f"{self._policies[program]}, {kind}", x, means, group, dotted=kind == "true")


def _figures(answers: Answers) -> ProgramFigures:
    """The figures of a program; the halves are of its newcomers in the order in which they apply."""
    middle = answers.newcomers / 2
    first, second = (
        Half.of([told for who, told in answers.told.items() if (who < middle) is is_first])
        for is_first in (True, False)
    )
    return ProgramFigures(first, second, answers.returned, answers.rejected)


def _mean(values: Sequence[float], number: int) -> float | None:
    """The sum of some values by a number of people or options; None of nobody."""
    return float(np.sum(values)) / number if number else None
