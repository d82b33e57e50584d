"""How aiokafka's clients are ended: in bounded time, and with no connection left open."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any


async def close(client: Any, stop: Awaitable[None], seconds: float) -> bool:
    """Await ``stop``, then close the client's connections whatever came of it; whether it ended within ``seconds``.

    A consumer's ``stop`` is cancelled with what it waits for, a fetch that was asked for and had not begun, and has
    then closed nothing.
    """
    stopping = asyncio.ensure_future(stop)
    done, _ = await asyncio.wait([stopping], timeout=seconds)
    stopping.cancel()
    await asyncio.wait([stopping, asyncio.ensure_future(client.close())], timeout=seconds)
    return bool(done)
