"""An event loop that is held: its clock goes on and nothing is heard, as while a long computation runs in it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import TypeVar

import pytest

T = TypeVar("T")


class HeldLoop:
    """Moves the clock of event loops ahead. No test waits for it, so none depends on the speed of the machine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._held_seconds = 0.0
        monotonic = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: monotonic() + self._held_seconds)

    def hold(self, seconds: float) -> None:
        """Let this time pass in which the loop does nothing."""
        self._held_seconds += seconds

    async def during(self, work: Awaitable[T], seconds: float, times: int = 1) -> T:
        """Await some work. As soon as it has begun, the loop is held: so often, and each time so long."""
        working = asyncio.ensure_future(work)
        for _ in range(times):
            await asyncio.sleep(0)
            self.hold(seconds)
        return await working
