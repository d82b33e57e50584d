"""Progress of a simulation: a live screen on a terminal, a line on standard error every few seconds elsewhere."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from time import monotonic
from typing import Self

from msgspec import UNSET
from rich.console import Console
from rich.live import Live

from ...simulation.run_stats import PolicySummary, Summary
from .returns import line_of_days
from .rounds import has_rounds, line_of_rounds
from .shift import phases_in_words
from .summary import panel
from .words import mean


class ProgressDisplay(AbstractContextManager["ProgressDisplay"], ABC):
    """Shows the progress of a run, at most once in ``every_seconds``."""

    every_seconds: float

    def __init__(self) -> None:
        self._last_shown = -float("inf")

    def update(self, summary: Callable[[], Summary], total: int) -> None:
        """Show the summary if it is time; ``total`` is the number of rejected people, of rounds, or of days."""
        now = monotonic()
        if now - self._last_shown >= self.every_seconds:
            self._last_shown = now
            self.show(summary(), total)

    @abstractmethod
    def note(self, text: str) -> None:
        """Show a line about the current step."""

    @abstractmethod
    def show(self, summary: Summary, total: int) -> None:
        """Show a summary."""

    def __exit__(self, *error: object) -> None:
        """Leave the screen as it is."""


class PlainDisplay(ProgressDisplay):
    """Lines on standard error."""

    every_seconds = 5.0

    def __init__(self) -> None:
        super().__init__()
        self._last_shown = monotonic()

    def note(self, text: str) -> None:
        """Print the line."""
        print(text, file=sys.stderr, flush=True)

    def show(self, summary: Summary, total: int) -> None:
        """Print a line with the main figures."""
        if has_rounds(summary):
            self.note(line_of_rounds(summary, total))
            return
        if summary.days is not UNSET:
            self.note(line_of_days(summary, total))
            return
        answered = summary.recourse + summary.none
        said = f"{answered} of {total} rejected people answered, {summary.events_per_second:.0f} events/s"
        if summary.shift is not UNSET:
            self.note(f"{said}, improvement before / just after / at the end: {phases_in_words(summary.shift)}")
            return
        scores = ", ".join(f"{name} {_score(policy)}" for name, policy in summary.policies.items())
        self.note(f"{said}, improvement (cost): {scores}, oracle's mean expected reward {summary.oracle_mer:.3f}")

    def __enter__(self) -> Self:
        return self


class LiveDisplay(ProgressDisplay):
    """A screen that is redrawn a few times a second."""

    every_seconds = 0.25

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._console = console

    def note(self, text: str) -> None:
        """Print the line above the screen."""
        self._console.print(text, style="dim", highlight=False, markup=False)

    def show(self, summary: Summary, total: int) -> None:
        """Draw."""
        self._live.update(panel(summary, total), refresh=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.__exit__(None, None, None)


def _score(policy: PolicySummary) -> str:
    return f"{mean(policy.improvement)} ({mean(policy.cost)})"


def progress_display(console: Console, quiet: bool) -> ProgressDisplay:
    """A live screen on a terminal, unless ``quiet``; else lines."""
    return PlainDisplay() if quiet or not console.is_terminal else LiveDisplay(console)
