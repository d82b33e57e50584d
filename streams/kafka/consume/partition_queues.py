"""Queues of chunks, one for each partition: a queue is processed in order, different queues concurrently.

    queues = PartitionQueues(handle, max_records=2000)
    queues.put("applications", records)     # returns at once
    queues.clear()                          # drops every chunk that is not in progress
    await queues.close()

While one queue waits for a broker's answer, another is processed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence

from ...records import Record

Chunk = list[Record]


class PartitionQueues:
    """Awaits ``handle``, which must not raise, with one chunk, or with several of up to ``max_records`` in all."""

    def __init__(self, handle: Callable[[Sequence[Chunk]], Awaitable[None]], max_records: int) -> None:
        self._handle = handle
        self._max_records = max_records
        self._queues: dict[Hashable, deque[Chunk]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_empty(self) -> bool:
        """Whether no chunk is queued or in progress."""
        return not self._queues

    def put(self, key: Hashable, chunk: Chunk) -> None:
        """Add a chunk to the queue of this key."""
        queue = self._queues.get(key)
        if queue is not None:
            queue.append(chunk)
            return
        self._queues[key] = deque([chunk])
        task = asyncio.create_task(self._process(key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def clear(self) -> None:
        """Drop the chunks that are not in progress."""
        for queue in self._queues.values():
            queue.clear()

    async def close(self) -> None:
        """Cancel the chunks in progress too."""
        self.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _process(self, key: Hashable) -> None:
        queue = self._queues[key]
        try:
            while queue:
                await self._handle(self._take(queue))
        finally:
            del self._queues[key]

    def _take(self, queue: deque[Chunk]) -> Sequence[Chunk]:
        chunks = [queue.popleft()]
        records = len(chunks[0])
        while queue and records + len(queue[0]) <= self._max_records:
            chunks.append(queue.popleft())
            records += len(chunks[-1])
        return chunks
