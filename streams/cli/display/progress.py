"""Progress of a simulation: a live screen on a terminal, a line on standard error every few seconds elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from time import monotonic
from typing import Self

from rich.console import Console
from rich.live import Live

from .summary import View, panel


class Display(AbstractContextManager["Display"]):
    """Shows the progress of a run, at most once in ``every_seconds``: in lines on standard error."""

    every_seconds = 5.0

    def __init__(self) -> None:
        self._last_shown = monotonic()

    def update(self, view: Callable[[], View]) -> None:
        """Show the run if it is time."""
        now = monotonic()
        if now - self._last_shown >= self.every_seconds:
            self._last_shown = now
            self.show(view())

    def note(self, text: str) -> None:
        """Print a line about the current step."""
        print(text, file=sys.stderr, flush=True)

    def show(self, view: View) -> None:
        """Print a line with the main figures."""
        summary, figures = view
        speed = f"{summary.events_per_second:,.0f} events/s"
        self.note(", ".join(filter(None, (figures.served(summary).text, speed, figures.line(summary)))))

    def __exit__(self, *error: object) -> None:
        """Leave the lines as they are."""


class LiveDisplay(Display):
    """A screen that is redrawn a few times a second."""

    every_seconds = 0.25

    def __init__(self, console: Console) -> None:
        self._last_shown = -float("inf")
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._console = console

    def note(self, text: str) -> None:
        """Print the line above the screen."""
        self._console.print(text, style="dim", highlight=False, markup=False)

    def show(self, view: View) -> None:
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
