"""How long a client waits for brokers, counted in the time in which it could have heard them.

    async with Patience(10.0):
        await answer()          # TimeoutError when the loop has listened for 10 s

A worker whose event loop is held, by a long computation or because the process or its machine stood still, hears
nobody. The answers wait in its sockets meanwhile, so this time says nothing about the brokers.
"""

from __future__ import annotations

import asyncio
import math
from types import TracebackType
from typing import Any, Self

_TURN_SECONDS = 0.05
_LEAST_TURNS = 20


class Patience:
    """As ``asyncio.timeout``, with a clock that goes on by one short turn each time the loop listens.

    A turn during which the loop was held counts as one, however long it took. Waiting in vain therefore takes
    ``seconds``, and longer where the loop is busy.
    """

    def __init__(self, seconds: float) -> None:
        self._turns = max(_LEAST_TURNS, math.ceil(seconds / _TURN_SECONDS))
        self._turn_seconds = seconds / self._turns
        self._heard = 0
        self._timeout = asyncio.timeout(None)

    @property
    def heard_seconds(self) -> float:
        """The time in which the loop has listened."""
        return self._heard * self._turn_seconds

    def renew(self) -> None:
        """Start over."""
        self._heard = 0

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._loop = asyncio.get_running_loop()
        self._wait()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._turn.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    def _wait(self) -> None:
        self._turn = self._loop.call_later(self._turn_seconds, self._listened)

    def _listened(self) -> None:
        self._heard += 1
        if self._heard < self._turns:
            self._wait()
        else:
            self._timeout.reschedule(self._loop.time())


async def settled(future: asyncio.Future[Any], seconds: float) -> bool:
    """Wait for a future, which may fail; return whether it is done."""
    try:
        async with Patience(seconds):
            await asyncio.wait([future])
    except TimeoutError:
        return False
    return True
