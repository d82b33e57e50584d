"""The snapshot scheduler: takes a snapshot of every ledger at a fixed interval, and when its partition is revoked.

No failure here ends a worker: it is logged and counted, and the next interval tries again.
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
from ..ledger.schema import SCHEMA_VERSION
from ..metrics import Metrics
from ..records import TopicPartition
from ..threads import in_thread, stoppable_in_thread
from .store import Snapshot, SnapshotError, Snapshots

log = logging.getLogger(__name__)

LAST_BYTES = 128 << 20
"""A larger ledger is not copied when its partition is revoked: the rebalance would wait for it."""
LAST_SECONDS = 5.0
"""The most time for the last snapshots of all revoked partitions together.

Only the pages of such a copy are checked, which is faster. Its values were checked when the ledger was opened, and a
worker that restores it checks it in full.
"""


@dataclass
class _Schedule:
    """The schedule of one ledger. ``due`` is in the event loop's seconds, ``offset`` that of the newest snapshot."""

    snapshots: Snapshots
    path: Path
    due: float
    offset: int | None
    running: asyncio.Lock = field(default_factory=asyncio.Lock)


class SnapshotScheduler:
    """Takes a snapshot of every open ledger each ``seconds``; none without ``snapshots``.

    ``offsets`` are the journal offsets of the ledgers. A snapshot is listed only while the lease runs: a worker that
    stood still would replace its successor's list by an older one.
    """

    def __init__(
        self,
        snapshots: Snapshots | None,
        seconds: float,
        metrics: Metrics,
        clock_ms: Callable[[], int],
        wait_until_valid: Callable[[], Awaitable[None]],
    ) -> None:
        self._snapshots = snapshots
        self._seconds = seconds
        self._metrics = metrics
        self._clock_ms = clock_ms
        self._wait_until_valid = wait_until_valid
        self._schedules: dict[TopicPartition, _Schedule] = {}

    def opened(self, journal: TopicPartition, path: Path, newest: Snapshot | None) -> None:
        """Schedule an open ledger; ``newest`` is its newest snapshot, perhaps another worker's."""
        if self._snapshots is None:
            return
        due = asyncio.get_running_loop().time() + self._seconds
        schedule = self._schedules[journal] = _Schedule(self._snapshots, path, due, None)
        if newest is not None and newest.ledger.schema < SCHEMA_VERSION:
            # The ledger was migrated: a worker that loses it must not need the version before.
            schedule.due = asyncio.get_running_loop().time()
        elif newest is not None:
            # A clock that was set back must not delay the next one.
            age = max(0.0, (self._clock_ms() - newest.taken_ms) / 1000)
            schedule.due -= min(self._seconds, age)
            schedule.offset = newest.ledger.offset
            self._metrics.snapshot_timestamp_seconds.labels(journal.partition).set(newest.taken_ms / 1000)

    async def take_due(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Take the snapshots that are due, one after the other."""
        for journal, offset in offsets.items():
            schedule = self._schedules.get(journal)
            if schedule is not None and schedule.due <= asyncio.get_running_loop().time():
                await self._take_unless_current(journal, schedule, offset)
                schedule.due = asyncio.get_running_loop().time() + self._seconds

    async def revoked(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Take a last snapshot of small ledgers, so that the next owner need not fold again.

        Then remove the schedules of all.
        """
        try:
            async with asyncio.timeout(LAST_SECONDS):
                # One after the other: when the time is over some are complete, instead of none.
                for journal, offset in offsets.items():
                    await self._take_last(journal, offset)
        except TimeoutError:
            log.warning("a last snapshot took longer than %g s and was given up", LAST_SECONDS)
        for journal in offsets:
            self._schedules.pop(journal, None)
            self._metrics.snapshot_timestamp_seconds.remove(journal.partition)

    async def _take_last(self, journal: TopicPartition, offset: int) -> None:
        schedule = self._schedules.get(journal)
        if schedule is not None and size_bytes(schedule.path) <= LAST_BYTES:
            await self._take_unless_current(journal, schedule, offset, values=False)

    async def _take_unless_current(
        self, journal: TopicPartition, schedule: _Schedule, offset: int, *, values: bool = True
    ) -> None:
        async with schedule.running:
            if schedule.offset != offset and not await self._try_take(journal, schedule, values=values):
                return
        if self._schedules.get(journal) is schedule:
            self._metrics.snapshot_timestamp_seconds.labels(journal.partition).set(self._clock_ms() / 1000)

    async def _try_take(self, journal: TopicPartition, schedule: _Schedule, *, values: bool) -> bool:
        started = perf_counter()
        try:
            send = partial(schedule.snapshots.send, schedule.path, journal, self._clock_ms(), values=values)
            snapshot = await stoppable_in_thread(send)
            await self._wait_until_valid()
            await in_thread(schedule.snapshots.enlist, snapshot)
        except (SnapshotError, OSError, FencedError) as error:
            self._metrics.snapshot_failures.labels("take").inc()
            log.warning("no snapshot was taken: %s", error, extra={"partition": journal.partition})
            return False
        schedule.offset = snapshot.ledger.offset
        seconds = perf_counter() - started
        self._metrics.snapshot_seconds.labels("take").observe(seconds)
        extra = {"partition": journal.partition, "offset": schedule.offset, "seconds": round(seconds, 3)}
        log.info("took snapshot %s", snapshot.file, extra=extra)
        return True
