"""How long a worker may take its partitions for its own.

The group gives the partitions of a worker away when it has heard nothing of it for the session timeout. So a lease runs
from the moment the last answered heartbeat was sent, which is before the group counts from, and ends before the group's
patience does. A worker that was stopped and woken finds its lease over and writes nothing until the group has spoken:
either it still counts on the worker, or the worker is fenced.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial

from ..errors import FencedError

log = logging.getLogger(__name__)

MARGIN = 0.1
"""The share of the session timeout by which a lease is shorter: for clocks that do not run alike, and for what is
written between asking and having written."""
_LOOK_SECONDS = 0.02

clock = partial(time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
"""Seconds of a clock that nobody sets and that goes on while the process, or where it can the machine, is stopped."""


class Lease:
    """The lease on all partitions of a worker. One thread hears from the group, any may ask.

    A worker that is told of a rebalance has ``rebalance_seconds`` to finish and to join again, heartbeats or not.
    """

    def __init__(self, session_seconds: float, rebalance_seconds: float, clock: Callable[[], float] = clock) -> None:
        self.clock = clock
        self._session = session_seconds
        self._rebalance = rebalance_seconds
        self._steady = self._end = clock()
        self._lost = self._told = False

    def granted(self, sent: float) -> None:
        """The group gave partitions: the answer to what was sent then."""
        self._steady, self._end = sent, self._until(sent + self._session)
        self._lost = self._told = False

    def renewed(self, sent: float) -> None:
        """The group answered a heartbeat sent then."""
        self._steady, self._end = sent, self._until(sent + self._session)
        self._told = False

    def called(self, sent: float) -> None:
        """The group answered a heartbeat sent then, and calls its members together to share the partitions anew."""
        self._end = self._until(min(sent + self._session, self._steady + self._rebalance))

    def lost(self) -> None:
        """The group does not know this worker any more."""
        self._lost = True

    @property
    def runs(self) -> bool:
        """Whether the partitions are certain to be this worker's."""
        return not self._lost and self.clock() < self._end

    async def hold(self) -> None:
        """Return while the lease runs; wait for the group's word when it is over; raise ``FencedError`` if lost."""
        if not (self.runs or self._lost or self._told):
            self._told = True
            log.warning("no heartbeat was answered for too long: nothing is written until the group answers")
        while not self.runs:
            if self._lost:
                raise FencedError(
                    f"this worker stood still or was cut off for longer than the group waits ({self._session:g} s), "
                    "and its partitions may have another owner by now: nothing more was written; start it again"
                )
            await asyncio.sleep(_LOOK_SECONDS)

    def _until(self, end: float) -> float:
        return end - MARGIN * self._session


async def always() -> None:
    """The ``hold`` of a lease that never ends."""
