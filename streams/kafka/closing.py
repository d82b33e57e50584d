"""How aiokafka's clients are ended: in bounded time, and with no connection left open."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any

log = logging.getLogger(__name__)


async def close(client: Any, stop: Awaitable[None], seconds: float) -> bool:
    """Await ``stop``, then close the client's connections whatever came of it; whether it ended within ``seconds``.

    A consumer's ``stop`` is cancelled with what it waits for, a fetch that was asked for and had not begun. It has left
    its group then, and closed nothing.
    """
    stopping = asyncio.ensure_future(stop)
    try:
        done, _ = await asyncio.wait([stopping], timeout=seconds)
    finally:
        stopping.cancel()
        closing = asyncio.ensure_future(client.close())
        await asyncio.wait([stopping, closing], timeout=seconds)
        for task in (stopping, closing):
            task.add_done_callback(_looked_at)
    return bool(done)


def _looked_at(task: asyncio.Future[None]) -> None:
    """Who closes goes on whatever comes of it: asyncio would print it as a traceback otherwise."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("a connection to Kafka was not ended in good order: %s", str(error) or type(error).__name__)
