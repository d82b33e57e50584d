"""Work in a thread that can be told to stop: a thread cannot be cancelled, so the work has to look."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[Event], T], *, to_its_end: bool = False) -> T:
    """What ``work`` gives. It is handed an event, which is set when this is cancelled.

    Nobody waits for it then, unless it is ``to_its_end``: for what must not go on beside what comes next.
    """
    stop = Event()
    working = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await (asyncio.shield(working) if to_its_end else working)
    finally:
        stop.set()
        if to_its_end:
            await _ended(working)


async def _ended(working: asyncio.Future[T]) -> None:
    """Wait for the end, also when this is cancelled again."""
    while not working.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([working])
    if not working.cancelled():
        working.exception()  # asyncio prints a traceback for errors that nobody retrieves
