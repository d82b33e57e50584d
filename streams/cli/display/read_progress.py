"""Progress of a command that reads topics, ledgers or data: a line on standard error every few seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic

EVERY_SECONDS = 5.0
DRAFT_SECONDS = 2.0


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


class DraftProgress:
    """Says every two seconds how many columns of a data file, or other ``units``, a command has looked at.

    ``clock`` gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic, units: str = "columns") -> None:
        self._clock, self._last_shown, self._units = clock, clock(), units

    def __call__(self, done: int, total: int) -> None:
        """Print a line when the last one is old."""
        now = self._clock()
        if now - self._last_shown >= DRAFT_SECONDS:
            self._last_shown = now
            print(f"looked at {done:,} of {total:,} {self._units}", file=sys.stderr, flush=True)
