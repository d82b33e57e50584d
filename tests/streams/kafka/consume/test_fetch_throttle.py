from __future__ import annotations

import asyncio

from onward.streams.kafka.consume.fetch_throttle import LOOK_SECONDS, throttle_fetches

PAUSE_SECONDS = 60.0


class Fetcher:
    """Answers its fetches with these results."""

    def __init__(self, *has_records, is_idle=lambda: False):
        self.answers, self.notified, self.tasks = iter(has_records), [], []
        self._fetch_waiters = ["waiter"]
        throttle_fetches(self, PAUSE_SECONDS, is_idle)

    async def _proc_fetch_request(self, assignment, node, request):
        return next(self.answers)

    async def close(self):
        """As aiokafka: cancel the tasks and await them."""
        for task in self.tasks:
            task.cancel()
            await task

    def _notify(self, waiter):
        self.notified.append(waiter)


async def test_after_records_the_next_fetch_waits_and_the_waiters_are_notified_at_once(held_loop):
    fetcher = Fetcher(True)
    fetching = asyncio.ensure_future(fetcher._proc_fetch_request(None, 0, None))
    await asyncio.sleep(0.01)
    assert fetcher.notified == ["waiter"]
    assert not fetching.done()
    held_loop.hold(PAUSE_SECONDS)
    assert await fetching is True


async def test_the_next_fetch_waits_no_longer_than_the_worker_is_at_work(held_loop):
    idle = [False]
    fetcher = Fetcher(True, is_idle=lambda: idle[0])
    fetching = asyncio.ensure_future(fetcher._proc_fetch_request(None, 0, None))
    for _ in range(5):
        await asyncio.sleep(LOOK_SECONDS)
    assert not fetching.done()
    idle[0] = True
    assert await asyncio.wait_for(fetching, PAUSE_SECONDS / 2) is True
    assert fetcher.notified == ["waiter"]


async def test_after_an_empty_answer_the_next_fetch_does_not_wait():
    fetcher = Fetcher(False)
    fetching = asyncio.ensure_future(fetcher._proc_fetch_request(None, 0, None))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert fetching.done()
    assert await fetching is False
    assert not fetcher.notified


async def test_a_fetcher_closed_during_the_pause_closes_completely():
    fetcher = Fetcher(True)
    fetcher.tasks = [asyncio.ensure_future(fetcher._proc_fetch_request(None, 0, None))]
    await asyncio.sleep(0.01)
    await fetcher.close()
    assert fetcher.tasks[0].done()
