"""Throughput and latency of the whole pipeline, beside stock Faust and a raw aiokafka loop that do no work at all.

One run, one broker, the same input bytes. Onward is the production worker: applications are checked, appended to the
journal, assessed against 200 candidates of 13 features, answered by LinUCB, kept in the ledger, and their windows
closed (ten steps later, which is one more event each). The others pass the bytes on.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from onward.benchmarks import face
from onward.benchmarks.arena.broker import PARTITIONS, Broker, a_broker
from onward.benchmarks.arena.contender import Contender, Effort, Lane
from onward.benchmarks.arena.latency import latencies
from onward.benchmarks.arena.load import Load, Sent, write_load
from onward.benchmarks.face import Row, progress
from onward.streams.topics import plan

ONWARD, FAUST, AIOKAFKA = "onward", "stock faust", "raw aiokafka"
AIM_PER_CPU_SECOND = 25_000.0
AIM_RATIOS = {"first aim": 1.0, "next aim": 4.0}
AIM_P99_SECONDS = {500: 0.1}
WARM_UP = 1000
QUICK = {"applications": 4000, "repeats": 1, "latency_seconds": 3.0}
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9}


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    applications: int = field(default=30_000, metadata={"help": "applications of each throughput run"})
    repeats: int = field(default=3, metadata={"help": "throughput runs of each contender and seed"})
    rates: str = field(default="200,500", metadata={"help": "applications per second of the latency runs"})
    latency_seconds: float = field(default=15.0, metadata={"help": "length of each latency run"})
    broker: str = field(default="auto", metadata={"help": "real, embedded, or auto: real where there is one"})


@dataclass(frozen=True)
class Arena:
    """What contenders are started with."""

    broker: Broker
    load: Load
    folder: Path

    @contextmanager
    def running(self, name: str, run: str) -> Iterator[Contender]:
        """A contender on new topics, warmed up."""
        lane = Lane(self.broker, run)
        self.broker.create(plan(lane.topics, PARTITIONS, 1))
        command, environment = COMMANDS[name](self, lane)
        with Contender(name, command, lane, self.folder / f"{run}.log", environment) as contender:
            lane.send(self.load.applications("warm-up", WARM_UP))
            contender.reach(WARM_UP)
            yield contender


Command = tuple[list[str], dict[str, str]]


def _onward(arena: Arena, lane: Lane) -> Command:
    settings = {
        "ONWARD_BROKERS": arena.broker.bootstrap,
        "ONWARD_SPEC": str(arena.load.spec),
        "ONWARD_STATE_DIR": str(arena.folder / f"{lane.name}-state"),
        "ONWARD_TOPIC_PREFIX": lane.topics.prefix,
        "ONWARD_GROUP": lane.name,
        "ONWARD_FETCH_WAIT_SECONDS": str(arena.broker.fetch_wait_ms / 1000),
        "ONWARD_WEB": "false",
    }
    return [sys.executable, "-m", "onward", "worker"], settings


def _passing(module: str) -> Callable[[Arena, Lane], Command]:
    def command(arena: Arena, lane: Lane) -> Command:
        way = [arena.broker.bootstrap, lane.name, lane.topics.applications, lane.topics.recourse]
        wait = str(arena.broker.fetch_wait_ms)
        return [sys.executable, "-m", f"onward.benchmarks.arena.{module}", *way, wait], {}

    return command


COMMANDS = {ONWARD: _onward, FAUST: _passing("stock_faust"), AIOKAFKA: _passing("raw_aiokafka")}


def pipeline(args: Args) -> Iterator[Row]:
    """All figures of one run."""
    if args.quick:
        args = type(args)(**{**vars(args), **QUICK})
    real = {"auto": None, "real": True, "embedded": False}[args.broker]
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as temporary:
        folder = Path(temporary)
        with a_broker(folder, real=real) as broker:
            progress(f"{broker.name} at {broker.bootstrap}")
            efforts: dict[str, list[Effort]] = {name: [] for name in COMMANDS}
            for seed in args.seeds:
                arena = Arena(broker, write_load(folder / f"program-{seed}", seed, args.data), folder)
                _race(arena, args, seed, efforts)
            waits = {name: _latencies(arena, args, name) for name in (ONWARD, FAUST)}
        yield from _throughput_rows(efforts, args.applications)
        yield from _latency_rows(waits)


def _race(arena: Arena, args: Args, seed: int, efforts: dict[str, list[Effort]]) -> None:
    """Every contender in turn, so that what else the machine does strikes all alike."""
    records = arena.load.applications("a", args.applications)
    for repeat in range(args.repeats):
        for name in COMMANDS:
            effort = _throughput(arena, records, name, f"{name.replace(' ', '-')}-{seed}-{repeat}")
            efforts[name].append(effort)
            rate, cpu_rate = (len(records) / seconds for seconds in effort)
            progress(f"{name}: {rate:,.0f} a second, {cpu_rate:,.0f} a CPU-second")


def _throughput(arena: Arena, records: Sequence[Sent], name: str, run: str) -> Effort:
    with arena.running(name, run) as contender:
        with contender.held():
            contender.lane.send(records)
        return contender.reach(WARM_UP + len(records))


def _latencies(arena: Arena, args: Args, name: str) -> dict[int, list[float]]:
    """Percentiles in seconds by rate, in the order of ``PERCENTILES``."""
    found = {}
    with arena.running(name, f"{name.replace(' ', '-')}-latency") as contender:
        for rate in map(int, args.rates.split(",")):
            records = arena.load.applications(f"at-{rate}", round(rate * args.latency_seconds))
            waits = latencies(contender.lane, records, rate)
            found[rate] = np.percentile(waits, list(PERCENTILES.values())).tolist()
            progress(f"{name} at {rate} a second: p99 {found[rate][1] * 1000:.1f} ms")
    return found


def _throughput_rows(efforts: dict[str, list[Effort]], count: int) -> Iterator[Row]:
    wall = {name: median(count / effort.seconds for effort in of) for name, of in efforts.items()}
    cpu = {name: median(count / effort.cpu_seconds for effort in of) for name, of in efforts.items()}
    for name in COMMANDS:
        yield Row(f"{name}: throughput", wall[name], "applications/s", reference=wall[FAUST])
    for name in COMMANDS:
        aim = AIM_PER_CPU_SECOND if name == ONWARD else None
        yield Row(f"{name}: work", cpu[name], "applications/CPU-s", reference=cpu[FAUST], aim=aim)
    for aim_name, aim in AIM_RATIOS.items():
        yield Row(f"onward / stock faust, work, {aim_name}", cpu[ONWARD] / cpu[FAUST], "x", reference=1.0, aim=aim)
    yield Row("onward / stock faust, throughput", wall[ONWARD] / wall[FAUST], "x", reference=1.0, aim=1.0)
    yield Row("onward / raw aiokafka, work", cpu[ONWARD] / cpu[AIOKAFKA], "x", reference=cpu[FAUST] / cpu[AIOKAFKA])


def _latency_rows(waits: dict[str, dict[int, list[float]]]) -> Iterator[Row]:
    for name, by_rate in waits.items():
        for rate, values in by_rate.items():
            for index, (percentile, seconds) in enumerate(zip(PERCENTILES, values, strict=True)):
                aim = AIM_P99_SECONDS.get(rate) if (name, percentile) == (ONWARD, "p99") else None
                reference = waits[FAUST][rate][index]
                title = f"{name}: latency {percentile} at {rate}/s"
                yield Row(title, seconds, "s", reference=reference, aim=aim, better="lower")


if __name__ == "__main__":
    sys.exit(face.run(Args, pipeline))
