from __future__ import annotations

import asyncio

from onward.streams.kafka.consume.partition_queues import PartitionQueues
from onward.streams.records import Record


def chunk(partition, *offsets):
    return [Record("t", partition, offset, 0, None, b"", ()) for offset in offsets]


class Calls:
    """Keeps the records of every call of the handler; a call recalls when it is allowed to."""

    def __init__(self, max_records=4):
        self.started, self.allowed = [], asyncio.Semaphore(0)
        self.queues = PartitionQueues(self._handle, max_records)

    async def _handle(self, chunks):
        self.started.append([(record.partition, record.offset) for chunk in chunks for record in chunk])
        await self.allowed.acquire()

    async def after(self, recalls):
        for _ in range(recalls):
            self.allowed.release()
        for _ in range(10):
            await asyncio.sleep(0)
        return self.started


async def test_queues_are_processed_concurrently_and_each_in_order():
    calls = Calls(max_records=1)
    for offset in (0, 1):
        for partition in (0, 1):
            calls.queues.put(partition, chunk(partition, offset))
    assert await calls.after(0) == [[(0, 0)], [(1, 0)]]
    assert await calls.after(1) == [[(0, 0)], [(1, 0)], [(0, 1)]]
    assert await calls.after(3) == [[(0, 0)], [(1, 0)], [(0, 1)], [(1, 1)]]
    calls.queues.put(0, chunk(0, 2))
    assert (await calls.after(1))[-1] == [(0, 2)], "an empty queue starts again"


async def test_one_call_takes_the_queued_chunks_up_to_the_limit():
    calls = Calls(max_records=4)
    calls.queues.put("t", chunk(0, 0))
    await calls.after(0)
    calls.queues.put("t", chunk(0, 1, 2))
    calls.queues.put("t", chunk(1, 0, 1))
    calls.queues.put("t", chunk(1, 2, 3, 4, 5, 6))
    assert await calls.after(3) == [
        [(0, 0)],
        [(0, 1), (0, 2), (1, 0), (1, 1)],
        [(1, 2), (1, 3), (1, 4), (1, 5), (1, 6)],
    ]


async def test_cleared_chunks_never_start():
    calls = Calls(max_records=1)
    for offset in (0, 1, 2):
        calls.queues.put("t", chunk(0, offset))
    await calls.after(0)
    calls.queues.clear()
    calls.queues.put("t", chunk(0, 9))
    assert await calls.after(5) == [[(0, 0)], [(0, 9)]]


async def test_close_cancels_the_chunk_in_progress():
    calls = Calls(max_records=1)
    for offset in (0, 1):
        calls.queues.put("t", chunk(0, offset))
    await calls.after(0)
    await calls.queues.close()
    assert await calls.after(5) == [[(0, 0)]]
    assert len(asyncio.all_tasks()) == 1
