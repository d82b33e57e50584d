"""A pause between fetches, as long as the worker is at work on what it has.

A broker answers a fetch as soon as it has one record. Under a steady trickle that is a request for nearly every record
and chunks of one record: sending requests then takes more of a worker's time than the work itself. So the next fetch
after an answer with records is delayed while the worker has records to handle, and more gather meanwhile. A worker that
has nothing to do fetches at once, and so does one whose last answer was empty: nobody waits for records that gather.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

LOOK_SECONDS = 0.002
"""Between two looks whether the worker is idle: about what it takes until fetched records are at their handler."""


def throttle_fetches(fetcher: Any, longest_seconds: float, is_idle: Callable[[], bool]) -> None:
    """Make aiokafka's fetcher wait before it fetches again from a broker that has just returned records."""
    fetch = fetcher._proc_fetch_request

    async def throttled(assignment: Any, node: int, request: Any) -> bool:
        has_records: bool = await fetch(assignment, node, request)
        if has_records:
            # aiokafka notifies the waiters when this returns, which is too late for the records that are there.
            for waiter in fetcher._fetch_waiters:
                fetcher._notify(waiter)
            try:
                await _pause(longest_seconds, is_idle)
            except asyncio.CancelledError:
                # aiokafka's own method returns False too: closing the fetcher cancels and then awaits it.
                return False
        return has_records

    fetcher._proc_fetch_request = throttled


async def _pause(longest_seconds: float, is_idle: Callable[[], bool]) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + longest_seconds
    while (left := end - loop.time()) > 0:
        await asyncio.sleep(min(LOOK_SECONDS, left))
        if is_idle():
            return
