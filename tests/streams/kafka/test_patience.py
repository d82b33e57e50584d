from __future__ import annotations

import asyncio

import pytest

from onward.streams.kafka.patience import Patience


async def never() -> None:
    await asyncio.Event().wait()


async def test_it_ends_when_nothing_is_heard():
    with pytest.raises(TimeoutError):
        async with Patience(0.05) as patience:
            await never()
    assert patience.heard_seconds == pytest.approx(0.05)


async def test_time_in_which_the_loop_was_held_does_not_count(held_loop):
    async def answer() -> str:
        async with Patience(10) as patience:
            for _ in range(5):
                await asyncio.sleep(0)
        assert patience.heard_seconds < 5
        return "heard"

    assert await held_loop.during(answer(), seconds=3600, times=5) == "heard"


async def test_a_short_time_outlives_a_loop_that_is_held_a_few_times(held_loop):
    async def answer() -> str:
        async with Patience(0.05):
            for _ in range(5):
                await asyncio.sleep(0)
        return "heard"

    assert await held_loop.during(answer(), seconds=3600, times=5) == "heard"


async def test_it_starts_over_when_it_is_renewed():
    async with Patience(0.2) as patience:
        await asyncio.sleep(0.1)
        assert patience.heard_seconds > 0
        patience.renew()
        assert patience.heard_seconds == 0


async def test_a_cancellation_stays_one():
    async def wait() -> None:
        async with Patience(60):
            await never()

    waiting = asyncio.ensure_future(wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
