"""Figures of retrained models: who did what was asked and is turned away, and what has become of the promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import UNSET, Struct

from .....schemas.events import PromiseChange, Recourse
from ...display.words import percentage
from ..contract import Figures
from ..promises import PromiseSummary
from ..run_stats import Summary
from ..sections import Section, Served
from .days import RetrainedSimulation, ReturnsSummary


class ReturnsOwn(Struct, frozen=True):
    """The fields of retrained models in ``--json``.

    ``turned_away`` is by policy the share of those who did what was asked that is rejected; None while nobody has done
    it. ``days`` have begun.
    """

    promises: PromiseSummary
    turned_away: Mapping[str, float | None]
    returns: tuple[ReturnsSummary, ...]
    days: int


class ReturnFigures(Figures):
    """Counts the options that are promised, by what has become of them, and those who come back, by program and model.

    ``policies`` are by program. A revised recourse promises new options in place of broken ones.
    """

    def __init__(self, simulation: RetrainedSimulation, policies: Mapping[str, str]) -> None:
        super().__init__(simulation.total)
        self._simulation, self._policies = simulation, policies
        self._opened = 0
        self._ended: Counter[str] = Counter()

    def add(self, event: Struct) -> None:
        """Count an event, if it is about promised options."""
        match event:
            case Recourse():
                self._opened += sum(option.status is not UNSET for option in event.options)
            case PromiseChange(options=tuple() as options):
                self._ended[event.status] += len(options)

    @property
    def promises(self) -> PromiseSummary:
        """The fates of the options."""
        return PromiseSummary.of(self._opened, self._ended)

    def own(self) -> ReturnsOwn:
        """Promises, those turned away, and the days."""
        returns = self._simulation.returns
        away = {policy: _share(returns, program) for program, policy in self._policies.items()}
        return ReturnsOwn(self.promises, away, tuple(returns), self._simulation.days)

    def served(self, summary: Summary) -> Served:
        """The days that have begun."""
        days = self._simulation.days
        return Served(days, self.total, f"day {days:,} of {self.total:,}")

    def line(self, summary: Summary) -> str:
        """The shares that are turned away, and the promises."""
        own = self.own()
        away = ", ".join(f"{policy} {percentage(share)}" for policy, share in own.turned_away.items())
        return f"turned away of those who did what was asked: {away}, promises: {own.promises}"

    def sections(self) -> Sequence[Section]:
        """Those turned away, by program and model, and below them the promises."""
        returns = self._simulation.returns
        numbers = sorted({one.model for one in returns})
        rows = [("program", *(f"model {number + 1}" for number in numbers), "all")]
        for program in dict.fromkeys(one.program for one in returns):
            own = [one for one in returns if one.program == program]
            rows.append((program, *(_cell([one]) for one in own), _cell(own)))
        return [Section("Turned away, of those who did what was asked", rows, [f"promises: {self.promises}"])]

    def conclusions(self) -> Sequence[str]:
        """A line for each program."""
        returns, lines = self._simulation.returns, list[str]()
        for program in self._policies:
            done = sum(one.done for one in returns if one.program == program)
            share = percentage(_share(returns, program))
            lines.append(f"{program}: of {done} who did what was asked, {share} were turned away")
        return lines


def _cell(returns: Sequence[ReturnsSummary]) -> str:
    rejected, done = sum(one.rejected for one in returns), sum(one.done for one in returns)
    return f"{rejected} of {done} ({percentage(rejected / done)})" if done else "-"


def _share(returns: Sequence[ReturnsSummary], program: str) -> float | None:
    own = [one for one in returns if one.program == program]
    done = sum(one.done for one in own)
    return sum(one.rejected for one in own) / done if done else None
