"""A production worker that kills itself with SIGKILL at a named point: ``faulty_worker.py POINT NTH DELAY_MS``.

A point is a stage of the keeper, or the moment before the group is told how far the journal was read. Everything else
is settings from the environment. Nothing of the process survives: no handler runs, nothing is flushed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from onward.streams import keeper
from onward.streams.kafka.transport import GroupConsumer
from onward.streams.logs import configure
from onward.streams.service import run_service
from onward.streams.settings import WorkerSettings
from onward.streams.topics import Topics

PORTION_ENTRIES = 10
GROUP_COMMIT = "before the group commit"


def killer(point: str, nth: int, delay_ms: float) -> Callable[[str], None]:
    seen = 0

    def observe(stage: str) -> None:
        nonlocal seen
        seen += stage == point
        if stage == point and seen == nth:
            if not delay_ms:
                os.kill(os.getpid(), signal.SIGKILL)
            threading.Timer(delay_ms / 1000, os.kill, (os.getpid(), signal.SIGKILL)).start()

    return observe


def observe_commits(observe: Callable[[str], None], journal: str) -> None:
    commit = GroupConsumer._commit

    async def observed(self: GroupConsumer, offsets: Mapping[Any, int]) -> bool:
        if any(tp.topic == journal for tp in offsets):
            observe(GROUP_COMMIT)
        return await commit(self, offsets)

    GroupConsumer._commit = observed


if __name__ == "__main__":
    point, nth, delay_ms = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    configure("info", "text")
    # Small portions: the more of them, the more places to be killed at.
    keeper.PORTION_ENTRIES = PORTION_ENTRIES
    settings, observe = WorkerSettings(), killer(point, nth, delay_ms)
    observe_commits(observe, Topics(prefix=settings.topic_prefix).journal)
    asyncio.run(run_service(settings, observe=observe))
