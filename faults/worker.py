"""A production worker that sends itself a signal at a named point, and whose clock may be wrong.

    python -m onward.faults.worker --point "outputs in flight" --nth 7 --delay-ms 2

A point is a stage of the processor, or the moment before the group is told how far the journal was read. The rest
is settings from the environment, as for ``onward worker``. Of a killed process nothing survives: no handler runs,
nothing is flushed. A clock is that of the whole process, and SIGUSR1 lets it jump.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

from onward.streams.cli.flags import parse_settings
from onward.streams.errors import OnwardError
from onward.streams.kafka.consume.group_consumer import GroupConsumer
from onward.streams.kafka.service import run_service
from onward.streams.settings import WorkerSettings
from onward.streams.topics import Topics
from onward.streams.worker import partition_processor as processor
from onward.streams.worker.logs import configure
from onward.streams.worker.partition_processor import Stage

GROUP_COMMIT = "before the group commit"
POINTS = (*(stage.value for stage in Stage), GROUP_COMMIT)
PORTION_ENTRIES = 10
"""Small portions unless told otherwise: the more of them, the more places to be hit at."""


def main() -> int:
    """Run until the signal, or as long as any worker; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--point", choices=POINTS, help="where the signal strikes; nowhere when absent")
    parser.add_argument("--nth", type=int, default=1, help="at which time that the point is reached")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="how long after it")
    parser.add_argument("--signal", type=lambda name: signal.Signals[name], default=signal.SIGKILL)
    parser.add_argument("--clock-ms", type=int, default=0, help="how far the worker's clock is ahead")
    parser.add_argument("--jump-ms", type=int, default=0, help="how far SIGUSR1 sets it forward")
    parser.add_argument("--portion-entries", type=int, default=PORTION_ENTRIES, help="of the journal, committed as one")
    args = parser.parse_args()
    _shift_clock(args.clock_ms)
    signal.signal(signal.SIGUSR1, lambda *_: _shift_clock(args.jump_ms))
    configure("info", "json")
    processor.PORTION_ENTRIES = args.portion_entries
    settings = parse_settings(WorkerSettings, "onward.faults.worker", "", [])
    observe = _striker(args.point, args.nth, args.delay_ms, args.signal)
    _observe_commits(observe, Topics(prefix=settings.topic_prefix).journal)
    try:
        asyncio.run(run_service(settings, observe=observe))
    except OnwardError as error:
        print(f"onward: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _shift_clock(ahead_ms: int) -> None:
    """Set the process's clock forward, as far as Python tells it: ours, that of Kafka's client, that of log lines."""
    seconds, nanoseconds = time.time, time.time_ns
    shifted: Any = time
    shifted.time = lambda: seconds() + ahead_ms / 1000
    shifted.time_ns = lambda: nanoseconds() + ahead_ms * 1_000_000


def _striker(point: str | None, nth: int, delay_ms: float, number: signal.Signals) -> Callable[[str], None]:
    seen = 0

    def strike() -> None:
        time.sleep(delay_ms / 1000)
        os.kill(os.getpid(), number)

    def observe(stage: str) -> None:
        nonlocal seen
        seen += stage == point
        if stage == point and seen == nth:
            if delay_ms:
                threading.Thread(target=strike, daemon=True).start()
            else:
                strike()

    return observe


def _observe_commits(observe: Callable[[str], None], journal: str) -> None:
    commit = GroupConsumer._commit

    async def observed(self: GroupConsumer, offsets: Mapping[Any, int]) -> bool:
        if any(tp.topic == journal for tp in offsets):
            observe(GROUP_COMMIT)
        done: bool = await commit(self, offsets)
        return done

    cast(Any, GroupConsumer)._commit = observed


if __name__ == "__main__":
    sys.exit(main())
