"""Closes aiokafka's clients in bounded time, leaving no connection open."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any

from .patience import settled

log = logging.getLogger(__name__)


async def close(client: Any, stop: Awaitable[None], seconds: float) -> bool:
    """Await ``stop`` for ``seconds``, then close the client's connections, and return whether ``stop`` ended in time.

    Closing the client too is needed: when a consumer has a fetch that is scheduled and has not started, aiokafka's
    ``stop`` cancels that fetch, is cancelled with it, and leaves the group without closing its connections.
    """
    stopping = asyncio.ensure_future(stop)
    in_time = False
    try:
        in_time = await settled(stopping, seconds)
    finally:
        stopping.cancel()
        closing = asyncio.ensure_future(client.close())
        await settled(asyncio.gather(stopping, closing, return_exceptions=True), seconds)
        for task in (stopping, closing):
            task.add_done_callback(_log_failure)
    return in_time


def _log_failure(task: asyncio.Future[None]) -> None:
    """Retrieve the error: asyncio prints a traceback for errors that nobody retrieves."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("a connection to Kafka was not ended in good order: %s", str(error) or type(error).__name__)
