"""A worker with a million open recourses on a real Kafka: its memory, and the time until it is ready after a crash.

The production worker answers the applications; no window closes meanwhile. Then it is killed and started again: with
its ledger; from the newest snapshot, up to a minute old, and the rest of the journal; and from the journal alone. It is
ready when /readyz answers 200.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onward.benchmarks import face
from onward.benchmarks.arena.broker import PARTITIONS, Broker, start_broker
from onward.benchmarks.arena.contender import Contender, RunTopics
from onward.benchmarks.arena.load import Load, Shape, write_load
from onward.benchmarks.arena.onward_worker import ReadyWorker
from onward.benchmarks.face import Row, progress
from onward.streams.errors import OnwardError
from onward.streams.topics import plan
from onward.tests.support.kafka_cluster import unavailable

AIM_OPEN = 1_000_000
AIM_MEGABYTES, AIM_LEDGER_SECONDS, AIM_SNAPSHOT_SECONDS = 600.0, 30.0, 120.0
PORTION = 25_000
READY_SECONDS = 600.0
POLL_SECONDS = 0.2


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    open: int = field(default=AIM_OPEN, metadata={"quick": 3000, "help": "open recourses"})
    patience_seconds: float = field(default=600.0, metadata={"help": "longest time to open them; else they are left"})
    snapshot_minutes: float = field(default=1.0, metadata={"quick": 0.02, "help": "from one snapshot to the next"})


@dataclass(frozen=True)
class Setup:
    """One kind of window, on topics of its own."""

    kind: str
    run_topics: RunTopics
    load: Load
    folder: Path
    snapshot_minutes: float

    @property
    def state(self) -> Path:
        """The worker's state folder."""
        return self.folder / f"{self.kind}-state"

    @property
    def snapshots(self) -> Path:
        """The folder of its snapshots."""
        return self.folder / f"{self.kind}-snapshots"

    def worker(self) -> ReadyWorker:
        """Make a worker with the present state."""
        taken = {"ONWARD_SNAPSHOTS": str(self.snapshots), "ONWARD_SNAPSHOT_MINUTES": str(self.snapshot_minutes)}
        return ReadyWorker(self.run_topics, self.load.spec, self.state, self.folder / "worker.log", taken)


def recovery(args: Args) -> Iterator[Row]:
    """All figures, kind of window by kind of window."""
    if reason := unavailable():
        progress(f"all is left out: {reason}")
        return
    windows: Mapping[str, Any] = {"steps": {"steps": args.open}, "time": {"time": "P1D"}}
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as temporary:
        folder = Path(temporary)
        with start_broker(folder, "real") as broker:
            for kind, window in windows.items():
                yield from _rows(_setup(broker, folder, kind, window, args), args)


def _setup(broker: Broker, folder: Path, kind: str, window: Mapping[str, Any], args: Args) -> Setup:
    run_topics = RunTopics(broker, f"{kind}-window")
    broker.create(plan(run_topics.topics, PARTITIONS, 1))
    load = write_load(folder / kind, args.seeds[0], args.data, Shape(window=window))
    return Setup(kind, run_topics, load, folder, args.snapshot_minutes)


def _rows(setup: Setup, args: Args) -> Iterator[Row]:
    title = f"{setup.kind} window, {args.open:,} open"
    is_at_size = args.open == AIM_OPEN
    megabytes = AIM_MEGABYTES if is_at_size else None
    started = time.monotonic()
    with setup.worker() as worker:
        worker.ready(READY_SECONDS)
        first_seconds = time.monotonic() - started
        number = _open(Contender(setup.kind, setup.run_topics, [worker]), setup.load, args)
        if number < args.open:
            progress(f"{title}: left out, {number:,} after {args.patience_seconds:g} s")
            return
        resident, peak = worker.resident_bytes() / 1e6, worker.resident_bytes(peak=True) / 1e6
        progress(f"{title}: {resident:,.0f} MB resident, {peak:,.0f} MB at most")
        _await_snapshots(setup)
        worker.kill()
    yield Row(f"{title}, resident", resident, "MB", aim=megabytes, better="lower")
    yield Row(f"{title}, at most", peak, "MB", better="lower")
    ways: Mapping[str, tuple[float | None, Sequence[Path]]] = {
        "with its ledger": (AIM_LEDGER_SECONDS, []),
        "from a snapshot": (AIM_SNAPSHOT_SECONDS, [setup.state]),
        "from the journal alone": (None, [setup.state, setup.snapshots]),
    }
    for way, (aim, lost) in ways.items():
        for path in lost:
            shutil.rmtree(path)
        seconds, peak = _restart(setup)
        progress(f"{title}: ready {way} after {seconds:.1f} s, {peak:,.0f} MB at most")
        aim = aim if is_at_size else None
        yield Row(f"{title}, ready {way}", seconds, "s", reference=first_seconds, aim=aim, better="lower")
        yield Row(f"{title}, at most when ready {way}", peak, "MB", aim=megabytes, better="lower")


def _await_snapshots(setup: Setup) -> None:
    """Wait until every ledger has a snapshot."""
    deadline = time.monotonic() + 60 * setup.snapshot_minutes + READY_SECONDS
    while len({path.parent for path in setup.snapshots.glob("*/*.sqlite")}) < PARTITIONS:
        if time.monotonic() > deadline:
            raise OnwardError(f"there are no snapshots of {PARTITIONS} ledgers in {setup.snapshots}")
        time.sleep(POLL_SECONDS)


def _restart(setup: Setup) -> tuple[float, float]:
    """Start a worker and kill it when it is ready; return the seconds until then and its peak memory in megabytes."""
    started = time.monotonic()
    with setup.worker() as worker:
        worker.ready(READY_SECONDS)
        seconds, peak = time.monotonic() - started, worker.resident_bytes(peak=True) / 1e6
        worker.kill()
    return seconds, peak


def _open(contender: Contender, load: Load, args: Args) -> int:
    """Send applications until all are answered or the time is over; return the number of answers."""
    deadline = time.monotonic() + args.patience_seconds
    for start in range(0, args.open, PORTION):
        if time.monotonic() > deadline:
            return start
        end = min(start + PORTION, args.open)
        contender.run_topics.send(load.applications("a", range(start, end)))
        contender.reach(end)
    return args.open


if __name__ == "__main__":
    sys.exit(face.run(Args, recovery))
