"""Work in threads. A thread cannot be cancelled: work that is to stop early has to look at an event."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event
from time import monotonic
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

log = logging.getLogger(__name__)

REPORT_SECONDS = 5.0
"""Seconds between two lines of the log that say that a piece of work goes on."""


async def in_thread(
    function: Callable[[*Ts], T],
    *args: *Ts,
    to_its_end: bool = False,
    name: str = "",
    extra: Mapping[str, object] | None = None,
) -> T:
    """Call ``function`` in a thread and return its result, like ``asyncio.to_thread``.

    The keywords are those of ``stoppable_in_thread``.
    """
    return await stoppable_in_thread(lambda _: function(*args), to_its_end=to_its_end, name=name, extra=extra)


async def stoppable_in_thread(
    work: Callable[[Event], T], *, to_its_end: bool = False, name: str = "", extra: Mapping[str, object] | None = None
) -> T:
    """Run ``work`` in a thread and return its result. It is handed an event, which is set when this is cancelled.

    Nobody waits for the thread then, unless it runs ``to_its_end``: for what must not go on beside what comes next.
    Work with a ``name`` is logged, with ``extra``, while it goes on.
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
