"""Retrained models on the screen: who did what was asked and is turned away, and what has become of the promises."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from ...simulation.promise_stats import ReturnsSummary
from ...simulation.run_stats import Summary
from .rounds import BAR_WIDTH, promises_in_words
from .words import percentage


def progress_of_days(days: int, total: int) -> Table:
    """A bar of the days that have begun, of ``total``."""
    grid = Table.grid(padding=(0, 2))
    grid.add_row(Text(f"day {days:,} of {total:,}"), ProgressBar(total, days, width=BAR_WIDTH))
    return grid


def line_of_days(summary: Summary, total: int) -> str:
    """The main figures in a line; empty where no model is trained again."""
    if summary.days is UNSET or summary.turned_away is UNSET or summary.promises is UNSET:
        return ""
    away = summary.turned_away
    return (
        f"day {summary.days} of {total}, turned away of those who did what was asked: robust "
        f"{percentage(away.robust)}, plain {percentage(away.plain)}, promises: {promises_in_words(summary.promises)}"
    )


def returns_table(summary: Summary) -> list[Table | Text]:
    """Those turned away, by program and model, and below them the promises; nothing where no model is trained again."""
    if summary.returns is UNSET or summary.promises is UNSET:
        return []
    numbers = sorted({one.model for one in summary.returns})
    columns = [Column(name, justify="right") for name in [*(_decides(number) for number in numbers), "all"]]
    title = "turned away, of those who did what was asked"
    table = Table("program", *columns, title=title, title_justify="left")
    for program in dict.fromkeys(one.program for one in summary.returns):
        own = [one for one in summary.returns if one.program == program]
        table.add_row(program, *([_row([one]) for one in own]), _row(own))
    return [table, Text(f"promises: {promises_in_words(summary.promises)}")]


def _decides(number: int) -> str:
    return f"model {number + 1}"


def _row(returns: Sequence[ReturnsSummary]) -> str:
    done, rejected = sum(one.done for one in returns), sum(one.rejected for one in returns)
    return f"{rejected:,} of {done:,} ({percentage(rejected / done)})" if done else "-"
