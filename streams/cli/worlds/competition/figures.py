"""Figures of rounds with limited places: thresholds, goals, coverage and promises, from the topics alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from .....agents.reached import reaches_score
from .....environments.competition import Season, mean_of_rounds
from .....schemas.events import NoRecourse, PromiseChange, Recourse, Threshold
from ...display.words import percentage
from ..contract import Figures
from ..promises import PromiseSummary
from ..run_stats import Summary
from ..sections import Line, Plot, Section, Served

SHOWN = 8
"""The rounds that are shown: the last ones."""
COLUMNS = ("round", "applied", "back", "reached", "placed", "threshold", "goal", "coverage")


class CoverageSummary(Struct, frozen=True):
    """``achieved`` is the share of those who came back with their promised score that got a place; None without any.

    ``rounds`` is the number of closed rounds, of all programs.
    """

    nominal: float
    achieved: float | None
    rounds: int

    def __str__(self) -> str:
        return f"{percentage(self.achieved)} (nominal {percentage(self.nominal)})"


class RoundsOwn(Struct, frozen=True):
    """The fields of rounds in ``--json``. ``feasibility`` is RF, the mean of the rounds; the others are unset before
    the first round is closed."""

    coverage: CoverageSummary | UnsetType
    promises: PromiseSummary | UnsetType
    feasibility: float | None
    last_rounds: tuple[Threshold, ...] | UnsetType


class RoundFigures(Figures):
    """Counts rounds and promises. ``total`` is the number of rounds of all programs."""

    def __init__(self, total: int, seasons: Sequence[Season] = ()) -> None:
        super().__init__(total)
        self._seasons = seasons
        self._rounds: dict[tuple[int, str], Threshold] = {}
        self._ended: Counter[str] = Counter()
        self._made = self._reached = self._kept = 0

    def add(self, event: Struct) -> None:
        """Count an event, if it is about rounds."""
        match event:
            case Threshold():
                self._rounds[event.round, event.program] = event
            case PromiseChange(target_score=float() as target_score):
                self._ended[event.status] += 1
                # A promise may be kept without the promised score, where places are left.
                if event.score is not None and reaches_score(event.score, target_score):
                    self._reached += 1
                    self._kept += event.status == "kept"
            case Recourse(target_score=float()) | NoRecourse(reason="apply_again"):
                self._made += 1

    @property
    def rounds(self) -> Sequence[Threshold]:
        """The closed rounds, by number."""
        return [self._rounds[key] for key in sorted(self._rounds)]

    @property
    def coverage(self) -> CoverageSummary | None:
        """How many of those who reached their promised score got a place; None before the first round is closed."""
        if not self._rounds:
            return None
        nominal = self.rounds[-1].coverage.nominal
        return CoverageSummary(nominal, self._kept / self._reached if self._reached else None, len(self._rounds))

    @property
    def promises(self) -> PromiseSummary:
        """The ends of the promises."""
        return PromiseSummary.of(self._made, self._ended)

    @property
    def feasibility(self) -> float | None:
        """RF, the share of the rejected who come back with the score that they were told; the mean of the rounds."""
        return mean_of_rounds([one.feasibility for season in self._seasons for one in season.outcomes])

    def own(self) -> RoundsOwn:
        """Coverage, promises, feasibility, and the last rounds."""
        if self.coverage is None:
            return RoundsOwn(UNSET, UNSET, self.feasibility, UNSET)
        return RoundsOwn(self.coverage, self.promises, self.feasibility, tuple(self.rounds[-SHOWN:]))

    def served(self, summary: Summary) -> Served:
        """The rounds that are closed."""
        return Served(len(self._rounds), self.total, f"{len(self._rounds):,} of {self.total:,} rounds closed")

    def line(self, summary: Summary) -> str:
        """The last round, coverage and promises."""
        if not self._rounds:
            return ""
        last = self.rounds[-1]
        return (
            f"threshold {last.threshold:.3f}, next goal {_goal(last)}, coverage {self.coverage}, "
            f"promises: {self.promises}"
        )

    def sections(self) -> Sequence[Section]:
        """The last rounds, and below them coverage, promises, feasibility and drift; nothing before the first one."""
        if not self._rounds:
            return []
        last = self.rounds[-SHOWN:]
        several = len({closed.program for closed in last}) > 1
        rows = [(*_row(closed), *([closed.program] if several else [])) for closed in last]
        lines = [f"coverage {self.coverage}", f"promises: {self.promises}"]
        if self.feasibility is not None:
            lines.append(f"{percentage(self.feasibility)} of the rejected came back with the score they were told")
        lines += [f"drift in round {one.round}: {', '.join(one.drift)}" for one in last if one.drift]
        head = (*COLUMNS, *(["program"] if several else []))
        return [Section("Rounds and promises", [head, *rows], lines, [self._thresholds(), self._coverage()])]

    def _thresholds(self) -> Plot:
        lines = []
        for group, (name, closed) in enumerate(self._by_program().items()):
            numbers = [one.round for one in closed]
            goals = [float("nan") if one.goal is None else one.goal for one in closed]
            lines.append(Line(f"{name}: threshold", numbers, [one.threshold for one in closed], group))
            lines.append(Line(f"{name}: goal", numbers, goals, group, dotted=True))
        return Plot("threshold and goal for the next rounds", lines, "round", highest=1.0)

    def _coverage(self) -> Plot:
        lines = []
        for group, (name, closed) in enumerate(self._by_program().items()):
            known = [(one.round, one.coverage.achieved) for one in closed if one.coverage.achieved is not None]
            lines.append(Line(name, [number for number, _ in known], [achieved for _, achieved in known], group))
        nominal = self.rounds[-1].coverage.nominal
        lines.append(Line("nominal", [0, self.rounds[-1].round], [nominal, nominal]))
        return Plot("coverage so far", lines, "round", highest=1.02)

    def _by_program(self) -> dict[str, list[Threshold]]:
        programs = sorted({closed.program for closed in self.rounds})
        return {program: [closed for closed in self.rounds if closed.program == program] for program in programs}


def _row(closed: Threshold) -> tuple[str, ...]:
    counts = (closed.round, closed.applicants, closed.returned, closed.reached, closed.accepted)
    coverage = percentage(closed.coverage.achieved)
    return (*(f"{count:,}" for count in counts), f"{closed.threshold:.3f}", _goal(closed), coverage)


def _goal(closed: Threshold) -> str:
    return "-" if closed.goal is None else f"{closed.goal:.3f}"
