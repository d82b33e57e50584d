"""Chunks in lanes: those of one lane one after the other, those of different lanes side by side.

    lanes = PartitionQueues(handle, most=2000)
    lanes.put("applications", records)      # returns at once
    lanes.drop()                            # what has not begun never will
    await lanes.close()

While one lane waits for a broker's answer, another is worked on. What has queued up in a lane is taken together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence

from ...records import Record

Chunk = list[Record]


class PartitionQueues:
    """``handle`` is awaited with the chunks of a turn, one or as many as make no more than ``most`` records, and must
    not raise."""

    def __init__(self, handle: Callable[[Sequence[Chunk]], Awaitable[None]], most: int) -> None:
        self._handle = handle
        self._most = most
        self._waiting: dict[Hashable, deque[Chunk]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, lane: Hashable, chunk: Chunk) -> None:
        """Queue a chunk in its lane."""
        waiting = self._waiting.get(lane)
        if waiting is not None:
            waiting.append(chunk)
            return
        self._waiting[lane] = deque([chunk])
        task = asyncio.create_task(self._work(lane))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def drop(self) -> None:
        """Forget what has not begun."""
        for waiting in self._waiting.values():
            waiting.clear()

    async def close(self) -> None:
        """Give up what is under way too."""
        self.drop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, lane: Hashable) -> None:
        waiting = self._waiting[lane]
        try:
            while waiting:
                await self._handle(self._turn(waiting))
        finally:
            del self._waiting[lane]

    def _turn(self, waiting: deque[Chunk]) -> Sequence[Chunk]:
        turn = [waiting.popleft()]
        records = len(turn[0])
        while waiting and records + len(waiting[0]) <= self._most:
            turn.append(waiting.popleft())
            records += len(turn[-1])
        return turn
