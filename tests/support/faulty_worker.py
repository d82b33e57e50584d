"""A production worker that kills itself with SIGKILL at a named point: ``faulty_worker.py POINT NTH DELAY_MS``.

Everything else is settings from the environment. Nothing of the process survives: no handler runs, nothing is flushed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable

from onward.streams.keeper import Stage
from onward.streams.logs import configure
from onward.streams.service import run_service
from onward.streams.settings import WorkerSettings


def killer(point: str, nth: int, delay_ms: float) -> Callable[[Stage], None]:
    seen = 0

    def observe(stage: Stage) -> None:
        nonlocal seen
        seen += stage == point
        if stage == point and seen == nth:
            if not delay_ms:
                os.kill(os.getpid(), signal.SIGKILL)
            threading.Timer(delay_ms / 1000, os.kill, (os.getpid(), signal.SIGKILL)).start()

    return observe


if __name__ == "__main__":
    point, nth, delay_ms = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    configure("info", "text")
    asyncio.run(run_service(WorkerSettings(), observe=killer(point, nth, delay_ms)))
