"""The lease of a worker on its partitions: while it is valid, no other worker owns them.

The group gives a worker's partitions away when it has received nothing from it for the session timeout. The lease
therefore counts from the moment the last answered heartbeat was sent, which is before the group starts counting, and
ends before the session does. A worker that was stopped and continued finds its lease over. It writes nothing until the
group answers: either the worker is still a member and goes on, or it is fenced.
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
"""The share of the session timeout by which a lease is shorter than the session: for clocks that run at different
speeds, and for the time between checking the lease and having written."""
_POLL_SECONDS = 0.02

clock = partial(time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
"""Seconds of a clock that nobody sets. It goes on while the process is stopped and, where possible, while the machine
is."""


class Lease:
    """The lease on all partitions of a worker. One thread reports the group's answers; any thread may check it.

    During a rebalance a worker has ``rebalance_seconds`` to finish and to join again; heartbeats do not extend that.
    ``sent`` is the time of ``clock`` at which a request was sent, not the time of its answer.
    """

    def __init__(self, session_seconds: float, rebalance_seconds: float, clock: Callable[[], float] = clock) -> None:
        self.clock = clock
        self._session = session_seconds
        self._rebalance = rebalance_seconds
        self._last_renewal = self._end = clock()
        self._is_lost = self._has_warned = False

    def grant(self, sent: float) -> None:
        """The group answered a request with an assignment."""
        self.renew(sent)
        self._is_lost = False

    def renew(self, sent: float) -> None:
        """The group answered a heartbeat."""
        self._last_renewal, self._end = sent, self._safe_end(sent + self._session)
        self._has_warned = False

    def renew_during_rebalance(self, sent: float) -> None:
        """The group answered a heartbeat, and asks its members to join again."""
        self._end = self._safe_end(min(sent + self._session, self._last_renewal + self._rebalance))

    def lose(self) -> None:
        """The worker is no longer a member of the group. Only a new assignment makes the lease valid again."""
        self._is_lost = True

    @property
    def is_valid(self) -> bool:
        """Whether the partitions are certain to be this worker's."""
        return not self._is_lost and self.clock() < self._end

    async def wait_until_valid(self) -> None:
        """Return when the lease is valid; wait for the group's answer when it is over; ``FencedError`` when lost."""
        if not (self.is_valid or self._is_lost or self._has_warned):
            self._has_warned = True
            log.warning("no heartbeat was answered for too long: nothing is written until the group answers")
        while not self.is_valid:
            if self._is_lost:
                raise FencedError(
                    f"this worker stood still or was cut off for longer than the group waits ({self._session:g} s), "
                    "and its partitions may have another owner by now: nothing more was written; start it again"
                )
            await asyncio.sleep(_POLL_SECONDS)

    def _safe_end(self, session_end: float) -> float:
        return session_end - MARGIN * self._session


async def always_valid() -> None:
    """Replaces ``Lease.wait_until_valid`` where there is no group."""
