"""A production worker that sends itself a signal at a named point, and whose clock may be wrong.

    python -m onward.tests.faults.suite.workers.worker --point "outputs in flight" --nth 7 --delay-ms 2

A point is a stage of delivery or of a cut of the journal, or the moment before journal offsets are committed to the
consumer group.
Everything else is settings from the environment, as for ``onward worker``. After SIGKILL no handler runs and nothing is
flushed. The clock is wrong for the whole process; SIGUSR1 makes it jump.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from onward.streams.cli.flags.parsing import parse_settings
from onward.streams.errors import OnwardError
from onward.streams.kafka.options import KafkaOptions
from onward.streams.kafka.produce.publisher import KafkaPublisher
from onward.streams.kafka.service import run_service
from onward.streams.settings import WorkerSettings
from onward.streams.topics import Topics
from onward.streams.worker.logs import configure
from onward.streams.worker.stages import ARCHIVE_STAGES, CUT_STAGES, DELIVERY_STAGES
from onward.tests.faults.suite.workers.plan import PORTION_ENTRIES

GROUP_COMMIT = "before the group commit"
POINTS = (*(stage.value for stage in DELIVERY_STAGES), GROUP_COMMIT)


def main(
    argv: Sequence[str] | None = None, make_publisher: Callable[[KafkaOptions], KafkaPublisher] = KafkaPublisher
) -> int:
    """Run until the signal, or as long as any worker; return its exit code."""
    args = _parse(argv)
    _shift_clock(args.clock_ms)
    signal.signal(signal.SIGUSR1, lambda *_: _shift_clock(args.jump_ms))
    configure("info", "json")
    settings = parse_settings(WorkerSettings, "onward.faults.worker", "", [])
    observe = _signal_at(args.point, args.nth, args.delay_ms, args.signal)
    journal = Topics(prefix=settings.topic_prefix).journal

    def before_commit(topics: Collection[str]) -> None:
        if journal in topics:
            observe(GROUP_COMMIT)

    try:
        service = run_service(
            settings,
            observe=observe,
            before_commit=before_commit,
            make_publisher=make_publisher,
            portion_entries=args.portion_entries,
        )
        asyncio.run(service)
    except OnwardError as error:
        print(f"onward: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--point", choices=(*POINTS, *CUT_STAGES, *ARCHIVE_STAGES), help="where the signal is sent; else none is"
    )
    parser.add_argument("--nth", type=int, default=1, help="the visit of the point at which it is sent")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="time from the visit to the signal")
    parser.add_argument("--signal", type=lambda name: signal.Signals[name], default=signal.SIGKILL)
    parser.add_argument("--clock-ms", type=int, default=0, help="how far the worker's clock is ahead")
    parser.add_argument("--jump-ms", type=int, default=0, help="how far SIGUSR1 moves it forward")
    parser.add_argument("--portion-entries", type=int, default=PORTION_ENTRIES, help="journal entries of a portion")
    return parser.parse_args(argv)


def _shift_clock(ahead_ms: int) -> None:
    """Move the process's clock forward for all Python code: Onward, the Kafka client and log lines."""
    seconds, nanoseconds = time.time, time.time_ns
    shifted: Any = time
    shifted.time = lambda: seconds() + ahead_ms / 1000
    shifted.time_ns = lambda: nanoseconds() + ahead_ms * 1_000_000


def _signal_at(point: str | None, nth: int, delay_ms: float, number: signal.Signals) -> Callable[[str], None]:
    """Return an observer of points that sends the process the signal at the ``nth`` visit of ``point``."""
    visits = 0

    def strike() -> None:
        time.sleep(delay_ms / 1000)
        os.kill(os.getpid(), number)

    def observe(reached: str) -> None:
        nonlocal visits
        visits += reached == point
        if reached == point and visits == nth:
            if delay_ms:
                threading.Thread(target=strike, daemon=True).start()
            else:
                strike()

    return observe


if __name__ == "__main__":
    sys.exit(main())
