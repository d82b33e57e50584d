"""When snapshots are taken: of every ledger now and then, and when the worker lets go of it.

Nothing that goes wrong here ends a worker: it is logged and counted, and the next attempt comes in its time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter

from ..errors import FencedError
from ..ledger.file import size_bytes
from ..metrics import Metrics
from ..records import TopicPartition
from ..threads import in_thread
from .store import Snapshot, SnapshotError, Snapshots

log = logging.getLogger(__name__)

LAST_BYTES = 128 << 20
"""A larger ledger is not copied once more when the worker lets go of it: a rebalance waits for that."""
LAST_SECONDS = 5.0
"""How long that may take, for all ledgers together.

So only a copy's pages are checked then, not its values: they were when the ledger was opened, what was written since
is this worker's, and whoever is to begin with the snapshot checks it first and has those before it.
"""


@dataclass
class _Taking:
    """Of one ledger. ``due`` is in the event loop's seconds, ``offset`` that of the newest snapshot."""

    snapshots: Snapshots
    path: Path
    due: float
    offset: int | None
    under_way: asyncio.Lock = field(default_factory=asyncio.Lock)


class SnapshotScheduler:
    """Takes snapshots of open ledgers, each every so many ``seconds``; none without ``snapshots``.

    ``offsets`` say where the ledgers stand. None is listed unless the lease holds: a worker that stood still would put
    an older list over its successor's.
    """

    def __init__(
        self,
        snapshots: Snapshots | None,
        seconds: float,
        metrics: Metrics,
        clock_ms: Callable[[], int],
        hold: Callable[[], Awaitable[None]],
    ) -> None:
        self._snapshots = snapshots
        self._seconds = seconds
        self._metrics = metrics
        self._clock_ms = clock_ms
        self._hold = hold
        self._takings: dict[TopicPartition, _Taking] = {}

    def opened(self, journal: TopicPartition, path: Path, newest: Snapshot | None) -> None:
        """A ledger is open; ``newest`` is its newest snapshot, perhaps another worker's."""
        if self._snapshots is None:
            return
        due = asyncio.get_running_loop().time() + self._seconds
        taking = self._takings[journal] = _Taking(self._snapshots, path, due, None)
        if newest is not None:
            # A clock that was set back must not put the next one off.
            age = max(0.0, (self._clock_ms() - newest.taken_ms) / 1000)
            taking.due -= min(self._seconds, age)
            taking.offset = newest.ledger.offset
            self._metrics.snapshot_timestamp_seconds.labels(journal.partition).set(newest.taken_ms / 1000)

    async def take_due(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Take those that are due, one after the other."""
        for journal, offset in offsets.items():
            taking = self._takings.get(journal)
            if taking is not None and taking.due <= asyncio.get_running_loop().time():
                await self._take(journal, taking, offset)
                taking.due = asyncio.get_running_loop().time() + self._seconds

    async def let_go(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Take a last one of small ledgers, so that the next owner has nothing to fold again, and forget them all."""
        try:
            async with asyncio.timeout(LAST_SECONDS):
                # Not side by side: when the time is over some are done, not all of them nearly.
                for journal, offset in offsets.items():
                    await self._take_last(journal, offset)
        except TimeoutError:
            log.warning("a last snapshot took longer than %g s and was given up", LAST_SECONDS)
        for journal in offsets:
            self._takings.pop(journal, None)
            self._metrics.snapshot_timestamp_seconds.remove(journal.partition)

    async def _take_last(self, journal: TopicPartition, offset: int) -> None:
        taking = self._takings.get(journal)
        if taking is not None and size_bytes(taking.path) <= LAST_BYTES:
            await self._take(journal, taking, offset, values=False)

    async def _take(self, journal: TopicPartition, taking: _Taking, offset: int, *, values: bool = True) -> None:
        async with taking.under_way:
            if taking.offset != offset and not await self._taken(journal, taking, values=values):
                return
        if self._takings.get(journal) is taking:
            self._metrics.snapshot_timestamp_seconds.labels(journal.partition).set(self._clock_ms() / 1000)

    async def _taken(self, journal: TopicPartition, taking: _Taking, *, values: bool) -> bool:
        started = perf_counter()
        try:
            send = partial(taking.snapshots.send, taking.path, journal, self._clock_ms(), values=values)
            snapshot = await in_thread(send)
            await self._hold()
            await in_thread(lambda _: taking.snapshots.enlist(snapshot))
        except (SnapshotError, OSError, FencedError) as error:
            self._metrics.snapshot_failures.labels("take").inc()
            log.warning("no snapshot was taken: %s", error, extra={"partition": journal.partition})
            return False
        taking.offset = snapshot.ledger.offset
        seconds = perf_counter() - started
        self._metrics.snapshot_seconds.labels("take").observe(seconds)
        extra = {"partition": journal.partition, "offset": taking.offset, "seconds": round(seconds, 3)}
        log.info("took snapshot %s", snapshot.file, extra=extra)
        return True
