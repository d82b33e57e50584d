"""Progress on standard error: a status line on a terminal, else one line for every event."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console


class Progress:
    """Prints the progress of the suite."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._started = time.monotonic()
        self._status: Any = None
        self._scenario = ""

    def scenario(self, name: str, position: str) -> AbstractContextManager[Any]:
        """Name the scenario that runs while the block lasts."""
        self._scenario = name
        self.log(f"begins ({position})")
        if not self._console.is_terminal:
            return nullcontext()
        self._status = self._console.status(name)
        status: AbstractContextManager[Any] = self._status
        return status

    def log(self, event: str) -> None:
        """Print one line."""
        seconds = time.monotonic() - self._started
        self._console.print(f"{seconds:6.1f} s  {self._scenario}: {event}", markup=False, soft_wrap=True)

    def update(self, state: str) -> None:
        """Replace the status line, on a terminal only."""
        if self._console.is_terminal and self._status is not None:
            self._status.update(f"{self._scenario}: {state}")
