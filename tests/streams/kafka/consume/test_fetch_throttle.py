from __future__ import annotations

import asyncio

from onward.streams.kafka.consume.fetch_throttle import throttle_fetches


class Fetcher:
    """Finds what it is told; counts the questions."""

    def __init__(self, finds):
        self.finds, self.told, self.tasks = iter(finds), [], []
        self._fetch_waiters = ["waiter"]
        throttle_fetches(self, 0.05)

    async def _proc_fetch_request(self, assignment, node, request):
        return next(self.finds)

    async def close(self):
        """As aiokafka closes: what is cancelled is waited for."""
        for task in self.tasks:
            task.cancel()
            await task

    def _notify(self, waiter):
        self.told.append(waiter)


async def test_after_records_the_next_question_waits_but_whoever_waits_for_them_does_not():
    fetcher = Fetcher([True])
    asking = asyncio.ensure_future(fetcher._proc_fetch_request(None, 0, None))
    await asyncio.sleep(0.01)
    assert fetcher.told == ["waiter"]
    assert not asking.done()
    assert await asking is True


async def test_after_an_empty_answer_the_next_question_does_not_wait():
    fetcher = Fetcher([False])
    asking = asyncio.ensure_future(fetcher._proc_fetch_request(None, 0, None))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert asking.done()
    assert await asking is False
    assert not fetcher.told


async def test_a_fetcher_that_is_closed_in_the_pause_is_closed_whole():
    fetcher = Fetcher([True])
    fetcher.tasks = [asyncio.ensure_future(fetcher._proc_fetch_request(None, 0, None))]
    await asyncio.sleep(0.01)
    await fetcher.close()
    assert fetcher.tasks[0].done()
