"""The progress line: a moving one on a terminal, else a line for everything that happens. On standard error."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console


class Progress:
    """Says where the suite is."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._started = time.monotonic()
        self._status: Any = None
        self._scenario = ""

    def scenario(self, name: str, place: str) -> AbstractContextManager[Any]:
        """A scenario is under way while the block lasts."""
        self._scenario = name
        self.say(f"begins ({place})")
        if not self._console.is_terminal:
            return nullcontext()
        self._status = self._console.status(name)
        status: AbstractContextManager[Any] = self._status
        return status

    def say(self, what: str) -> None:
        """Something happened."""
        seconds = time.monotonic() - self._started
        self._console.print(f"{seconds:6.1f} s  {self._scenario}: {what}", markup=False, soft_wrap=True)

    def now(self, what: str) -> None:
        """How it stands; only where it can be overwritten."""
        if self._console.is_terminal and self._status is not None:
            self._status.update(f"{self._scenario}: {what}")
