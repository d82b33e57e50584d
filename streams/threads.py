"""Work in a thread that can be told to stop: a thread cannot be cancelled, so the work has to look."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[Event], T]) -> T:
    """What ``work`` gives. It is handed an event, which is set when this is cancelled: nobody waits for it any more."""
    stop = Event()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()
