"""A run on the terminal: the live screen or lines while it plays, tables at its end, and an SVG picture."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from io import StringIO
from pathlib import Path
from time import monotonic
from typing import Self

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ...schemas.events import Recourse
from ...streams.advice import MANY_CHANGES
from ...streams.cli.display.words import mean, percentage, right
from ...streams.errors import writing
from ...streams.printable import printable
from .recording import Summary
from .sections import RunView

SIMULATED = "People and outcomes are simulated; the answers are those of the production worker."
PICTURE_COLUMNS = 88
BAR_WIDTH = 40
_FONT = re.compile(r"@font-face \{\{[^}]*+\}\}\s*")
SVG_FORMAT = _FONT.sub("", CONSOLE_SVG_FORMAT)
"""rich's format without the fonts that it would load from a server."""


def tables(view: RunView) -> Group:
    """The whole summary, printed at the end of a run."""
    summary = view.summary
    parts = (_counts(summary), *_sections(view), _policies(summary), _fates(summary), *_examples(summary))
    return Group(*parts, Text(SIMULATED, "dim"))


def write_picture(path: Path, view: RunView) -> None:
    """Write the live screen as an SVG that loads nothing from elsewhere; ``UsageError`` when it cannot be written."""
    console = Console(
        record=True, width=PICTURE_COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(panel(view))
    with writing(path, "the picture "):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(console.export_svg(title="onward demo", code_format=SVG_FORMAT), encoding="utf-8")


def panel(view: RunView) -> Panel:
    """The live screen."""
    return Panel(_screen(view), title="Onward", border_style="cyan")


def _screen(view: RunView) -> Group:
    summary, served = view.summary, view.shown.served
    progress = Table.grid(padding=(0, 2))
    progress.add_row(Text(served.text), ProgressBar(served.total, served.done, width=BAR_WIDTH))
    lines = (Text(_speed(summary)), Text(_options(summary)), Text(SIMULATED, "dim"), Text())
    # The figures of the learners come last: a low terminal cuts the end off.
    return Group(progress, *lines, *_sections(view), *_examples(summary), _policies(summary), _fates(summary))


def _sections(view: RunView) -> Iterator[RenderableType]:
    """The world's own tables, with their lines below."""
    for section in view.shown.sections:
        if section.rows:
            first, *others = section.rows[0]
            table = Table(first, *map(right, others), title=section.title, title_justify="left")
            for row in section.rows[1:]:
                table.add_row(*map(escape, row))
            yield table
        yield from map(Text, section.lines)


def _options(summary: Summary) -> str:
    none, many = percentage(summary.none_share), summary.many_changes_share
    changes = "-" if summary.mean_changes is None else f"{summary.mean_changes:.1f}"
    more = f", more than {MANY_CHANGES} in {percentage(many)} of them" if many else ""
    return f"{none} without a way forward, {changes} changes an option{more}"


def _examples(summary: Summary) -> list[RenderableType]:
    """The recourse of a few people in words, one row an option."""
    return [
        Group(Text(printable(str(example).split("\n")[0])), _option_rows(example), Text())
        for example in summary.examples
    ]


def _option_rows(recourse: Recourse) -> Table:
    """The options of a recourse; the words of a long one go on below its first word."""
    grid = Table.grid(padding=(0, 1))
    for option in recourse.options:
        grid.add_row(Text(f"  {option.id}."), Text(printable(option.in_words(recourse.execution_source))))
    return grid


def _speed(summary: Summary) -> str:
    latency = summary.latency_seconds
    latencies = "-" if latency.p50 is None or latency.p99 is None else f"{_ms(latency.p50)} / {_ms(latency.p99)}"
    return f"{summary.events_per_second:,.0f} events/s, latency p50 / p99 {latencies}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"


def _policies(summary: Summary) -> Table:
    names = ("mean expected reward", "of the oracle's", "improvement", "cost", "regret")
    table = Table("policy", *(right(name) for name in names))
    best = max((policy.mer for policy in summary.policies.values()), default=0.0)
    for name, policy in summary.policies.items():
        share = f"{policy.mer / summary.oracle_mer:.0%}" if summary.oracle_mer else "-"
        figures = (f"{policy.mer:.3f}", share, mean(policy.improvement), mean(policy.cost))
        table.add_row(name, *figures, f"{policy.regret:.1f}", style="bold green" if policy.mer == best > 0 else "")
    whole = "100%" if summary.oracle_mer else "-"
    table.add_row("oracle", f"{summary.oracle_mer:.3f}", whole, "", "", "0.0", style="dim")
    return table


def _fates(summary: Summary) -> Table:
    table = Table(*map(right, (*summary.fates, "open")), title="fates", title_justify="left")
    table.add_row(*(f"{number:,}" for number in (*summary.fates.values(), summary.open)))
    return table


def _counts(summary: Summary) -> Table:
    table = Table("counted from the topics", right("number"))
    for name in ("applications", "rejected", "recourse", "none", "lost"):
        table.add_row(name, f"{getattr(summary, name):,}")
    for name in ("duplicates", "conflicting_duplicates", "dead_letters"):
        table.add_row(name.replace("_", " "), f"{getattr(summary, name):,}")
    table.add_row("share of none", percentage(summary.none_share))
    if summary.many_changes_share:
        table.add_row(f"options with more than {MANY_CHANGES} changes", percentage(summary.many_changes_share))
    latency = summary.latency_seconds
    table.add_row("events per second", f"{summary.events_per_second:,.0f}")
    for name, seconds in (("latency p50", latency.p50), ("latency p99", latency.p99)):
        table.add_row(name, "-" if seconds is None else _ms(seconds))
    return table


class Display(AbstractContextManager["Display"]):
    """Shows the progress of a run, at most once in ``every_seconds``: in lines on standard error.

    What takes long to show, of many people, is shown less often: a tenth of the time at most goes into it.
    """

    every_seconds = 5.0

    def __init__(self) -> None:
        self._next = monotonic() + self.every_seconds

    def update(self, view: Callable[[], RunView]) -> None:
        """Show the run if it is time."""
        now = monotonic()
        if now >= self._next:
            self.show(view())
            shown = monotonic()
            self._next = shown + max(self.every_seconds - (shown - now), 9 * (shown - now))

    def note(self, text: str) -> None:
        """Print a line about the current step."""
        print(text, file=sys.stderr, flush=True)

    def show(self, view: RunView) -> None:
        """Print a line with the main figures."""
        speed = f"{view.summary.events_per_second:,.0f} events/s"
        self.note(", ".join(filter(None, (view.shown.served.text, speed, view.shown.line))))

    def __exit__(self, *error: object) -> None:
        """Leave the lines as they are."""


class LiveDisplay(Display):
    """A screen that is redrawn a few times a second."""

    every_seconds = 0.25

    def __init__(self, console: Console) -> None:
        self._next = -float("inf")
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._console = console

    def note(self, text: str) -> None:
        """Print the line above the screen."""
        self._console.print(text, style="dim", highlight=False, markup=False)

    def show(self, view: RunView) -> None:
        """Draw."""
        self._live.update(panel(view), refresh=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.__exit__(None, None, None)


def progress_display(console: Console, quiet: bool) -> Display:
    """A live screen on a terminal, unless ``quiet``; else lines."""
    return Display() if quiet or not console.is_terminal else LiveDisplay(console)
