"""Throughput and latency of the whole pipeline, beside frameworks and raw clients that do no work at all.

One run, one broker, the same input bytes. Onward is the production worker: applications are checked, appended to the
journal, assessed against 200 candidates of 13 features, answered by LinUCB, kept in the ledger, and their windows
closed (ten steps later, which is one more event each), while snapshots of the ledger are taken. Stock Faust and Quix
Streams decode and encode what they pass on, the raw loops on aiokafka and confluent-kafka pass bytes on.

First comes what a new user gets: the same worker on a program as ``spec draft`` and ``train`` make it, with the options
of a forest. It is not raced: others do no such work.

With ``--against`` two versions of Onward take turns instead, on applications of the same bytes. For latency both run,
and the applications of one window go to one of them, those of the next to the other.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from onward.benchmarks import face
from onward.benchmarks.arena import onward_worker
from onward.benchmarks.arena.broker import PARTITIONS, Broker, Kind, start_broker
from onward.benchmarks.arena.contender import Contender, RunTopics, Usage
from onward.benchmarks.arena.latency import latencies
from onward.benchmarks.arena.load import InputRecord, Load, Shape, write_drafted_load, write_load
from onward.benchmarks.arena.machine import fixed_work, is_optimised_python
from onward.benchmarks.face import Row, progress
from onward.streams.errors import UsageError
from onward.streams.ingest.partitioning import partition_of
from onward.streams.journal.entries import journal_key
from onward.streams.topics import plan
from onward.tests.support.process import WatchedProcess

ONWARD, FAUST, QUIX = "onward", "stock faust", "quix streams"
OTHER = "other onward"
AIOKAFKA, CONFLUENT = "raw aiokafka", "raw confluent-kafka"
QUIX_PYTHON = Path(__file__).resolve().parents[1] / "build" / "quix" / "bin" / "python"
AIM_CPU_RATIO = 4.0
"""Onward's applications per CPU-second, over stock Faust's of the same run. Ratios hold on any machine."""
AIM_P99_RATIOS = {500: 1.0}
"""Onward's p99 over stock Faust's of the same run, at most, by applications a second."""
AIM_P50_SECONDS = {500: 0.015}
"""Onward's p50, at most, by applications a second."""
AIM_OTHER_RATIO = 1.2
"""Onward's applications per CPU-second, over those of the other version of ``--against``: it was set for 9dd7f83e."""
AIM_OTHER_LATENCY = 1.05
"""Onward's latency, over that of the other version of ``--against``, at most."""
LEAST_SNAPSHOTS = 2.0
"""In a measured part, so that one was taken in the midst of it and not at its edge."""
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9}
_WRITE_LOAD = (
    "import sys; from pathlib import Path; from onward.benchmarks.arena.load import write_load; "
    "write_load(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]) if sys.argv[3:] else None)"
)
"""Writes the program of ``--against`` in the format of its version."""


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    applications: int = field(default=30_000, metadata={"quick": 2000, "help": "applications of a throughput run"})
    drafted: int = field(
        default=1000, metadata={"quick": 50, "help": "applications of a run of the drafted program; 0 leaves it out"}
    )
    repeats: int = field(default=3, metadata={"quick": 1, "help": "throughput runs of each contender and seed"})
    warm_up: int = field(default=1000, metadata={"quick": 200, "help": "applications before the measured ones"})
    rates: tuple[int, ...] = field(default=(500,), metadata={"help": "applications a second of the latency runs"})
    latency_seconds: float = field(default=20.0, metadata={"quick": 2.0, "help": "length of a latency run"})
    windows: int = field(
        default=10, metadata={"quick": 1, "help": "latency runs of each version, in turn, with --against"}
    )
    snapshot_seconds: float = field(
        default=2.0, metadata={"quick": 0.1, "help": "from one snapshot of the worker's ledger to the next"}
    )
    generator: str = field(default="instances", metadata={"help": "policy.generator of Onward's program"})
    options: int = field(default=1, metadata={"help": "options of a recourse of Onward's"})
    broker: Kind = field(default="auto", metadata={"help": "Kafka to run on; auto: a real one where there is one"})
    against: Path | None = field(
        default=None,
        metadata={
            "help": "Python of another checkout: compare with its worker alone",
            "metavar": "CHECKOUT/.venv/bin/python",
        },
    )


@dataclass(frozen=True)
class Arena:
    """The environment of the contenders."""

    broker: Broker
    load: Load
    folder: Path
    snapshot_seconds: float
    warm_up: int
    against: Path | None = None

    def snapshots(self, contender: Contender) -> int:
        """Snapshots so far of the ledger that all applications are in; only Onward takes any."""
        journal = partition_of(journal_key(self.load.program, 0), PARTITIONS)
        taken = (onward_worker.snapshots_taken(process, journal) for process in contender.processes)
        return sum(taken) if contender.name == ONWARD else 0

    @contextmanager
    def running(self, name: str, run: str) -> Iterator[Contender]:
        """A contender on new topics, warmed up."""
        run_topics = RunTopics(self.broker, run)
        self.broker.create(plan(run_topics.topics, PARTITIONS, 1))
        command, environment = COMMANDS[name](self, run_topics)
        process = WatchedProcess(command, self.folder / f"{run}.log", environment)
        with Contender(name, run_topics, [process]) as contender:
            run_topics.send(self.load.applications("warm-up", range(self.warm_up)))
            contender.reach(self.warm_up)
            yield contender


Command = tuple[list[str], dict[str, str]]


def _onward(arena: Arena, run_topics: RunTopics) -> Command:
    settings = onward_worker.settings(run_topics, arena.load.spec, arena.folder / f"{run_topics.name}-state")
    return onward_worker.COMMAND, settings | onward_worker.snapshots_every(arena.snapshot_seconds)


def _other(arena: Arena, run_topics: RunTopics) -> Command:
    """The worker of another checkout, on its own files of the same program."""
    folder = arena.folder / f"{arena.load.spec.parent.name}-other"
    settings = onward_worker.settings(
        run_topics, folder / arena.load.spec.name, arena.folder / f"{run_topics.name}-state"
    )
    assert arena.against is not None, "the other worker has a Python"
    command = [str(arena.against.absolute()), *onward_worker.COMMAND[1:]]
    return command, settings | onward_worker.snapshots_every(arena.snapshot_seconds)


def _write_other_load(arena: Arena, seed: int, data: Path | None) -> None:
    folder = arena.folder / f"{arena.load.spec.parent.name}-other"
    given = [str(folder), str(seed), *([str(data)] if data else [])]
    try:
        subprocess.run(
            [str(arena.against), "-P", "-c", _WRITE_LOAD, *given], check=True, capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        why = getattr(error, "stderr", None) or str(error)
        raise UsageError(
            f"--against {arena.against}: it cannot write a program: {why.strip().splitlines()[-1]}"
        ) from None


def _pass_through(module: str, python: str = sys.executable) -> Callable[[Arena, RunTopics], Command]:
    def command(arena: Arena, run_topics: RunTopics) -> Command:
        way = [arena.broker.bootstrap, run_topics.name, run_topics.topics.applications, run_topics.topics.recourse]
        wait = str(arena.broker.fetch_wait_ms)
        return [python, "-P", "-m", f"onward.benchmarks.arena.{module}", *way, wait], {}

    return command


COMMANDS = {
    ONWARD: _onward,
    OTHER: _other,
    FAUST: _pass_through("stock_faust"),
    QUIX: _pass_through("quix_streams", str(QUIX_PYTHON)),
    AIOKAFKA: _pass_through("raw_aiokafka"),
    CONFLUENT: _pass_through("raw_confluent"),
}


def _contenders(broker: Broker) -> list[str]:
    reason = None
    if not QUIX_PYTHON.exists():
        reason = "it is not installed (`make bench-pipeline` does it)"
    elif broker.embedded:
        reason = "it asks for topic settings, which the embedded broker cannot tell"
    if reason:
        progress(f"{QUIX} is left out: {reason}")
    return [name for name in COMMANDS if name != OTHER and (name != QUIX or not reason)]


class _Window(NamedTuple):
    """A latency run: percentiles in seconds, in the order of ``PERCENTILES``, and CPU-seconds an application."""

    percentiles: list[float]
    cpu_seconds: float


@dataclass
class Measurements:
    """What was measured, by contender: the throughput runs, and latency percentiles in seconds by rate.

    ``snapshots`` are those that Onward has taken in each measured part, ``fixed_work`` is the machine's speed before
    each run. ``paired`` are the windows of two versions, by rate.
    """

    usages: dict[str, list[Usage]] = field(default_factory=dict)
    waits: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    paired: dict[int, dict[str, list[_Window]]] = field(default_factory=dict)
    snapshots: dict[str, list[int]] = field(default_factory=dict)
    fixed_work: list[float] = field(default_factory=list)

    @contextmanager
    def measuring(self, part: str, name: str, snapshots: Callable[[], int]) -> Iterator[None]:
        """Count the snapshots that Onward takes while the block runs, and say at once when there are too few."""
        before = snapshots()
        yield
        if name == ONWARD:
            taken = snapshots() - before
            self.snapshots.setdefault(part, []).append(taken)
            few = " (too few: give more --applications, or less --snapshot-seconds)" if taken < LEAST_SNAPSHOTS else ""
            progress(f"{ONWARD}: {taken} snapshots of its ledger in {part}{few}")

    def snapshot_rows(self) -> Iterator[Row]:
        """The least there were in each part: without any, its figures are those of a worker without snapshots."""
        for part, taken in self.snapshots.items():
            yield Row(f"{ONWARD}, snapshots in {part}", min(taken), "", aim=LEAST_SNAPSHOTS)


def pipeline(args: Args) -> Iterator[Row]:
    """All figures of one run."""
    if args.against and (args.generator, args.options) != ("instances", 1):
        raise UsageError("--against takes the defaults of --generator and --options: every version knows those")
    found = Measurements()
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as temporary:
        folder = Path(temporary)
        with start_broker(folder, args.broker) as broker:
            progress(f"{broker.name} at {broker.bootstrap}, load average {os.getloadavg()[0]:.1f} of {os.cpu_count()}")
            progress(f"Python {sys.version}")
            if is_optimised_python() is False:
                progress("built without --enable-optimizations: figures are lower than with a distribution's Python")
            names = [ONWARD, OTHER] if args.against else _contenders(broker)
            shape = Shape(generator=args.generator, options=args.options)
            for seed in args.seeds:
                if args.drafted and not args.against:
                    yield from _drafted_rows(broker, folder, args, seed)
                load = write_load(folder / f"program-{seed}", seed, args.data, shape)
                arena = Arena(broker, load, folder, args.snapshot_seconds, args.warm_up, args.against)
                if args.against:
                    _write_other_load(arena, seed, args.data)
                _race(arena, names, args, seed, found)
            if args.against:
                found.paired = {rate: _paired_windows(arena, args, rate) for rate in args.rates}
    if args.against:
        yield from _pair_rows(found.usages, args.applications)
        yield from _window_rows(found.paired)
    else:
        yield from _throughput_rows(found.usages, args.applications)
        yield from _latency_rows(found.waits)
    yield from found.snapshot_rows()
    yield Row("fixed work", median(found.fixed_work), "CPU-s", reference=min(found.fixed_work), better="lower")


def _drafted_rows(broker: Broker, folder: Path, args: Args, seed: int) -> Iterator[Row]:
    progress("a program is drafted and trained, as a new user gets it")
    load = write_drafted_load(folder / f"drafted-{seed}", seed, args.data)
    arena = Arena(broker, load, folder, args.snapshot_seconds, min(args.warm_up, args.drafted))
    with arena.running(ONWARD, f"drafted-{seed}") as contender:
        usage = _throughput(contender, load.applications("a", range(args.drafted)), arena.warm_up)
    yield Row(f"{ONWARD} as drafted, by the clock, seed {seed}", args.drafted / usage.seconds, "/s")
    yield Row(f"{ONWARD} as drafted, by its CPU, seed {seed}", args.drafted / usage.cpu_seconds, "/CPU-s")


def _race(arena: Arena, names: Sequence[str], args: Args, seed: int, found: Measurements) -> None:
    """Run the contenders in turn, so that other load on the machine affects all of them."""
    records = arena.load.applications("a", range(args.applications))
    for repeat in range(args.repeats):
        is_last = (seed, repeat) == (args.seeds[-1], args.repeats - 1)
        for name in names:
            found.fixed_work.append(fixed_work())
            with arena.running(name, f"{name.replace(' ', '-')}-{seed}-{repeat}") as contender:
                with found.measuring("a throughput run", name, partial(arena.snapshots, contender)):
                    found.usages.setdefault(name, []).append(_throughput(contender, records, args.warm_up))
                if is_last and not args.against:
                    found.waits[name] = _latencies(arena, contender, args, found)


def _throughput(contender: Contender, records: Sequence[InputRecord], warm_up: int) -> Usage:
    with contender.suspended():
        contender.run_topics.send(records)
    usage = contender.reach(warm_up + len(records))
    rate, cpu_rate = len(records) / usage.seconds, len(records) / usage.cpu_seconds
    progress(f"{contender.name}: {rate:,.0f} a second, {cpu_rate:,.0f} a CPU-second")
    return usage


def _latencies(arena: Arena, contender: Contender, args: Args, measurements: Measurements) -> dict[int, list[float]]:
    """Percentiles in seconds by rate, in the order of ``PERCENTILES``."""
    found = {}
    for rate in args.rates:
        records = arena.load.applications(f"at-{rate}", range(round(rate * args.latency_seconds)))
        with measurements.measuring(f"the run at {rate}/s", contender.name, partial(arena.snapshots, contender)):
            waits = latencies(contender.run_topics, records, rate)
        found[rate] = np.percentile(waits, list(PERCENTILES.values())).tolist()
        progress(f"{contender.name} at {rate} a second: p99 {found[rate][1] * 1000:.1f} ms")
    return found


def _paired_windows(arena: Arena, args: Args, rate: int) -> dict[str, list[_Window]]:
    """The windows of two versions that both run, in turn: other load on the machine affects both."""
    found: dict[str, list[_Window]] = {ONWARD: [], OTHER: []}
    with ExitStack() as stack:
        running = {
            name: stack.enter_context(arena.running(name, f"{name.replace(' ', '-')}-at-{rate}")) for name in found
        }
        for number in range(args.windows):
            records = arena.load.applications(f"at-{rate}-{number}", range(round(rate * args.latency_seconds)))
            for name, contender in running.items():
                before = contender.cpu_seconds()
                waits = latencies(contender.run_topics, records, rate)
                cpu_seconds = (contender.cpu_seconds() - before) / len(records)
                window = _Window(np.percentile(waits, list(PERCENTILES.values())).tolist(), cpu_seconds)
                found[name].append(window)
                p50, p99, _ = (1000 * seconds for seconds in window.percentiles)
                progress(f"{name} at {rate}/s: p50 {p50:.1f}, p99 {p99:.1f} ms, {1e6 * cpu_seconds:.0f} us of CPU")
    return found


def _throughput_rows(usages: dict[str, list[Usage]], count: int) -> Iterator[Row]:
    wall = {name: median(count / usage.seconds for usage in of) for name, of in usages.items()}
    cpu = {name: median(count / usage.cpu_seconds for usage in of) for name, of in usages.items()}
    for name, rate in wall.items():
        yield Row(f"{name}, by the clock", rate, "/s", reference=wall[FAUST])
    for name, rate in cpu.items():
        yield Row(f"{name}, by its CPU", rate, "/CPU-s", reference=cpu[FAUST])
    yield Row(f"{ONWARD} / {FAUST}, by CPU", cpu[ONWARD] / cpu[FAUST], "x", reference=1.0, aim=AIM_CPU_RATIO)
    yield Row(f"{ONWARD} / {FAUST}, by the clock", wall[ONWARD] / wall[FAUST], "x", reference=1.0)
    for name in [name for name in usages if name not in (ONWARD, FAUST)]:
        yield Row(f"{ONWARD} / {name}", cpu[ONWARD] / cpu[name], "x", reference=cpu[FAUST] / cpu[name])


def _latency_rows(waits: dict[str, dict[int, list[float]]]) -> Iterator[Row]:
    for name, by_rate in waits.items():
        for rate, values in by_rate.items():
            for index, (percentile, seconds) in enumerate(zip(PERCENTILES, values, strict=True)):
                reference = waits[FAUST][rate][index]
                aim = AIM_P50_SECONDS.get(rate) if (name, percentile) == (ONWARD, "p50") else None
                title = f"{name}, {percentile} at {rate}/s"
                yield Row(title, seconds, "s", reference=reference, aim=aim, better="lower")
    at_p99 = list(PERCENTILES).index("p99")
    for rate, values in waits[ONWARD].items():
        ratio, aim = values[at_p99] / waits[FAUST][rate][at_p99], AIM_P99_RATIOS.get(rate)
        yield Row(f"{ONWARD} / {FAUST}, p99 at {rate}/s", ratio, "x", reference=1.0, aim=aim, better="lower")


def _pair_rows(usages: dict[str, list[Usage]], count: int) -> Iterator[Row]:
    """Each pair of runs, and the median of their ratios."""
    rates = {name: [count / usage.cpu_seconds for usage in of] for name, of in usages.items()}
    pairs = list(zip(rates[ONWARD], rates[OTHER], strict=True))
    for number, (own, other) in enumerate(pairs, 1):
        yield Row(f"{ONWARD}, by its CPU, pair {number}", own, "/CPU-s", reference=other)
    ratio = median(own / other for own, other in pairs)
    yield Row(f"{ONWARD} / {OTHER}, by CPU", ratio, "x", reference=1.0, aim=AIM_OTHER_RATIO)


def _window_rows(paired: dict[int, dict[str, list[_Window]]]) -> Iterator[Row]:
    """The medians over the windows of both versions, and the median of the ratios of windows that follow each other."""
    for rate, windows in paired.items():
        own, other = windows[ONWARD], windows[OTHER]
        for index, percentile in enumerate(PERCENTILES):
            pairs = [(one.percentiles[index], two.percentiles[index]) for one, two in zip(own, other, strict=True)]
            aim = AIM_OTHER_LATENCY if percentile != "p99.9" else None
            yield from _paired(f"{percentile} at {rate}/s", pairs, "s", aim)
        yield from _paired(
            f"CPU an application at {rate}/s",
            [(1e6 * one.cpu_seconds, 1e6 * two.cpu_seconds) for one, two in zip(own, other, strict=True)],
            "us",
        )


def _paired(what: str, pairs: Sequence[tuple[float, float]], unit: str, aim: float | None = None) -> Iterator[Row]:
    own, other = (median(values) for values in zip(*pairs, strict=True))
    yield Row(f"{ONWARD}, {what}", own, unit, reference=other, better="lower")
    ratio = median(one / two for one, two in pairs)
    yield Row(f"{ONWARD} / {OTHER}, {what}", ratio, "x", reference=1.0, aim=aim, better="lower")


if __name__ == "__main__":
    sys.exit(face.run(Args, pipeline))
