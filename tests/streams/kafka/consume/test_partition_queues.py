from __future__ import annotations

import asyncio

from onward.streams.kafka.consume.partition_queues import PartitionQueues
from onward.streams.records import Record


def chunk(partition, *offsets):
    return [Record("t", partition, offset, 0, None, b"", ()) for offset in offsets]


class Turns:
    """Keeps what begins; a turn ends when it is told to."""

    def __init__(self, most=4):
        self.begun, self.go = [], asyncio.Semaphore(0)
        self.queues = PartitionQueues(self._handle, most)

    async def _handle(self, chunks):
        self.begun.append([(record.partition, record.offset) for chunk in chunks for record in chunk])
        await self.go.acquire()

    async def after(self, turns):
        for _ in range(turns):
            self.go.release()
        for _ in range(10):
            await asyncio.sleep(0)
        return self.begun


async def test_queues_go_side_by_side_and_each_in_its_order():
    turns = Turns(most=1)
    for offset in (0, 1):
        for partition in (0, 1):
            turns.queues.put(partition, chunk(partition, offset))
    assert await turns.after(0) == [[(0, 0)], [(1, 0)]]
    assert await turns.after(1) == [[(0, 0)], [(1, 0)], [(0, 1)]]
    assert await turns.after(3) == [[(0, 0)], [(1, 0)], [(0, 1)], [(1, 1)]]
    turns.queues.put(0, chunk(0, 2))
    assert (await turns.after(1))[-1] == [(0, 2)], "a lane that was empty takes up again"


async def test_a_turn_takes_what_has_queued_up_but_no_more_than_it_may():
    turns = Turns(most=4)
    turns.queues.put("t", chunk(0, 0))
    await turns.after(0)
    turns.queues.put("t", chunk(0, 1, 2))
    turns.queues.put("t", chunk(1, 0, 1))
    turns.queues.put("t", chunk(1, 2, 3, 4, 5, 6))
    assert await turns.after(3) == [
        [(0, 0)],
        [(0, 1), (0, 2), (1, 0), (1, 1)],
        [(1, 2), (1, 3), (1, 4), (1, 5), (1, 6)],
    ]


async def test_what_is_dropped_never_begins():
    turns = Turns(most=1)
    for offset in (0, 1, 2):
        turns.queues.put("t", chunk(0, offset))
    await turns.after(0)
    turns.queues.clear()
    turns.queues.put("t", chunk(0, 9))
    assert await turns.after(5) == [[(0, 0)], [(0, 9)]]


async def test_closing_gives_up_what_is_under_way():
    turns = Turns(most=1)
    for offset in (0, 1):
        turns.queues.put("t", chunk(0, offset))
    await turns.after(0)
    await turns.queues.close()
    assert await turns.after(5) == [[(0, 0)]]
    assert len(asyncio.all_tasks()) == 1
