"""A pause between fetches.

A broker answers a fetch as soon as it has one record. Under a steady trickle that is a request for nearly every record
and chunks of one record: sending requests then takes more of a worker's time than the work itself. So the next fetch
after an answer with records is delayed, and records gather meanwhile. The next fetch after an empty answer is not
delayed: the first record after a silence is read at once.
"""

from __future__ import annotations

import asyncio
from typing import Any


def throttle_fetches(fetcher: Any, pause_seconds: float) -> None:
    """Make aiokafka's fetcher wait before it fetches again from a broker that has just returned records."""
    fetch = fetcher._proc_fetch_request

    async def throttled(assignment: Any, node: int, request: Any) -> bool:
        has_records: bool = await fetch(assignment, node, request)
        if has_records:
            # aiokafka notifies the waiters when this returns, which is too late for the records that are there.
            for waiter in fetcher._fetch_waiters:
                fetcher._notify(waiter)
            try:
                await asyncio.sleep(pause_seconds)
            except asyncio.CancelledError:
                # aiokafka's own method returns False too: closing the fetcher cancels and then awaits it.
                return False
        return has_records

    fetcher._proc_fetch_request = throttled
