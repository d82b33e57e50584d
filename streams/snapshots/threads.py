"""Work in a thread that can be told to stop: a thread cannot be cancelled, so the work has to look."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
            await asyncio.gather(working, return_exceptions=True)
