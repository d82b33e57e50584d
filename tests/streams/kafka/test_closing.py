from __future__ import annotations

import asyncio
import logging

import pytest

from onward.streams.kafka.closing import close

SOON, LONG = 0.05, 60.0


class Client:
    closed = 0

    async def close(self):
        self.closed += 1


async def never():
    await asyncio.sleep(LONG)


async def cancelled():
    raise asyncio.CancelledError


async def broken():
    raise OSError("the network is gone")


async def at_once():
    pass


@pytest.mark.parametrize(
    ("stop", "in_time", "warnings"),
    [(at_once, True, []), (cancelled, True, []), (never, False, []), (broken, True, ["the network is gone"])],
)
async def test_connections_are_closed_whether_or_not_the_stop_succeeds(stop, in_time, warnings, caplog):
    caplog.set_level(logging.WARNING)
    client = Client()
    assert await close(client, stop(), SOON) is in_time
    await asyncio.sleep(0)
    assert client.closed == 1
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == warnings


async def test_connections_are_closed_when_the_closing_task_is_cancelled():
    client = Client()
    closing = asyncio.create_task(close(client, never(), LONG))
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert client.closed == 1
    assert len(asyncio.all_tasks()) == 1
