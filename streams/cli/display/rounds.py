"""Rounds with limited places on the screen: thresholds, goals, coverage and promises."""

from __future__ import annotations

from msgspec import UNSET
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from ....schemas.events import Threshold
from ...simulation.round_stats import CoverageSummary, PromiseSummary
from ...simulation.run_stats import Summary
from .words import percentage

BAR_WIDTH = 40
COLUMNS = ("round", "applied", "back", "reached", "placed", "threshold", "goal", "coverage")


def has_rounds(summary: Summary) -> bool:
    """Whether the run's programs close rounds, also before the first is closed."""
    return summary.feasibility is not UNSET


def progress_of_rounds(summary: Summary, total: int) -> Table:
    """A bar of the rounds that are closed, of ``total``."""
    grid, closed = Table.grid(padding=(0, 2)), _closed(summary)
    grid.add_row(Text(f"{closed:,} of {total:,} rounds closed"), ProgressBar(total, closed, width=BAR_WIDTH))
    return grid


def line_of_rounds(summary: Summary, total: int) -> str:
    """The main figures of a run with rounds in a line."""
    line = f"{_closed(summary)} of {total} rounds closed"
    if summary.coverage is UNSET or summary.promises is UNSET or not summary.last_rounds:
        return line
    last = summary.last_rounds[-1]
    return (
        f"{line}, threshold {last.threshold:.3f}, next goal {_goal(last)}, "
        f"coverage {_coverage(summary.coverage)}, promises: {promises_in_words(summary.promises)}"
    )


def _closed(summary: Summary) -> int:
    return 0 if summary.coverage is UNSET else summary.coverage.rounds


def rounds_table(summary: Summary) -> list[Table | Text]:
    """The last rounds, and below them coverage, promises, feasibility and drift; nothing without rounds."""
    if summary.coverage is UNSET or summary.promises is UNSET or summary.last_rounds is UNSET:
        return []
    several = len({closed.program for closed in summary.last_rounds}) > 1
    table = Table(*(Column(name, justify="right") for name in COLUMNS), title="the last rounds", title_justify="left")
    if several:
        table.add_column("program")
    for closed in summary.last_rounds:
        table.add_row(*_row(closed), *([closed.program] if several else []))
    lines = [f"coverage {_coverage(summary.coverage)}", f"promises: {promises_in_words(summary.promises)}"]
    if isinstance(summary.feasibility, float):
        lines.append(f"{percentage(summary.feasibility)} of the rejected came back with the score they were told")
    lines += [f"drift in round {one.round}: {', '.join(one.drift)}" for one in summary.last_rounds if one.drift]
    return [table, *map(Text, lines)]


def _row(closed: Threshold) -> tuple[str, ...]:
    counts = (closed.round, closed.applicants, closed.returned, closed.reached, closed.accepted)
    coverage = percentage(closed.coverage.achieved)
    return (*(f"{count:,}" for count in counts), f"{closed.threshold:.3f}", _goal(closed), coverage)


def _goal(closed: Threshold) -> str:
    return "-" if closed.goal is None else f"{closed.goal:.3f}"


def _coverage(coverage: CoverageSummary) -> str:
    return f"{percentage(coverage.achieved)} (nominal {percentage(coverage.nominal)})"


def promises_in_words(promises: PromiseSummary) -> str:
    """What has become of promises."""
    ended = ("kept", "broken", "superseded", "expired", "open")
    return ", ".join(f"{getattr(promises, name):,} {name}" for name in ended)
