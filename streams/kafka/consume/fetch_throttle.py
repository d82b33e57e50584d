"""A pause between fetches.

A broker answers a fetch as soon as it has one record. Under a steady trickle that is a request for nearly every record,
and chunks of one: sending requests then takes more of a worker than the work itself. After an answer with records the
next question waits for a moment, in which the next records gather; after an empty one it does not, so that the first
record after a silence is read at once.
"""

from __future__ import annotations

import asyncio
from typing import Any


def pace(fetcher: Any, seconds: float) -> None:
    """Let aiokafka's fetcher wait for ``seconds`` before it asks a broker again that has just given it records."""
    fetch = fetcher._proc_fetch_request

    async def paced(assignment: Any, node: int, request: Any) -> bool:
        found: bool = await fetch(assignment, node, request)
        if found:
            # aiokafka tells them when this returns, which is too late for what has come.
            for waiter in fetcher._fetch_waiters:
                fetcher._notify(waiter)
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                # As aiokafka's own: whoever closes the fetcher waits for what was cancelled.
                return False
        return found

    fetcher._proc_fetch_request = paced
