"""Work in a thread that can be told to stop: a thread cannot be cancelled, so the work has to look."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event
from time import monotonic
from typing import TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)

REPORT_SECONDS = 5.0
"""Seconds between two lines of the log that say that a piece of work goes on."""


async def in_thread(
    work: Callable[[Event], T], *, to_its_end: bool = False, name: str = "", extra: Mapping[str, object] | None = None
) -> T:
    """What ``work`` gives. It is handed an event, which is set when this is cancelled.

    Nobody waits for it then, unless it is ``to_its_end``: for what must not go on beside what comes next. Work with a
    ``name`` is logged, with ``extra``, while it goes on.
    """
    stop = Event()
    working = asyncio.ensure_future(asyncio.to_thread(work, stop))
    report = asyncio.ensure_future(_report(name, extra or {})) if name else None
    try:
        return await (asyncio.shield(working) if to_its_end else working)
    finally:
        stop.set()
        if to_its_end:
            await _ended(working)
        if report:
            report.cancel()


async def _report(name: str, extra: Mapping[str, object]) -> None:
    """Log that a piece of work goes on, until this is cancelled."""
    started = monotonic()
    while True:
        await asyncio.sleep(REPORT_SECONDS)
        log.info("still at work: %s", name, extra={**extra, "seconds": round(monotonic() - started)})


async def _ended(working: asyncio.Future[T]) -> None:
    """Wait for the end, also when this is cancelled again."""
    while not working.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([working])
    if not working.cancelled():
        working.exception()  # asyncio prints a traceback for errors that nobody retrieves
