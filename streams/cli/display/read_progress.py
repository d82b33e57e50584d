"""Progress of a command that reads topics, ledgers or data: a line on standard error every few seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic

EVERY_SECONDS = 5.0
LINE_SECONDS = 2.0


class ReadProgress:
    """Counts ``total`` records, or another ``unit``; ``clock`` gives seconds. A short read prints nothing."""

    def __init__(self, total: int, clock: Callable[[], float] = monotonic, unit: str = "records") -> None:
        self._total, self._clock, self._unit = total, clock, unit
        self._read = 0
        self._last_shown = clock()

    def add(self, records: int) -> None:
        """Count records; print a line when the last one is old."""
        self._read += records
        now = self._clock()
        if now - self._last_shown >= EVERY_SECONDS:
            self._last_shown = now
            share = min(1.0, self._read / self._total) if self._total else 1.0
            line = f"read {self._read:,} of {self._total:,} {self._unit} ({share:.0%})"
            print(line, file=sys.stderr, flush=True)


class LineProgress:
    """Prints a line on standard error when the last one is two seconds old; ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock, self._last_shown = clock, clock()

    def __call__(self, line: str) -> None:
        """Print the line if it is time."""
        now = self._clock()
        if now - self._last_shown >= LINE_SECONDS:
            self._last_shown = now
            print(line, file=sys.stderr, flush=True)

    def restart(self) -> None:
        """Count no time before now, such as that in which somebody wrote an answer."""
        self._last_shown = self._clock()
