"""What an application costs when there are more candidates to choose from: 10 to 100,000 of them.

Twice: an application's whole way through ingest, engine and ledger, without Kafka; and the choice alone, which has the
execution probabilities and the feasible candidates of a person before it.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from onward.agents.choices import Pull, registry
from onward.benchmarks import face
from onward.benchmarks.arena.load import Load, Shape, write_load
from onward.benchmarks.arena.memory_worker import CHUNK, MemoryWorker
from onward.benchmarks.face import Row, progress

AIM_CANDIDATES, AIM_CHOICE_SECONDS = 100_000, 0.005
MOST_CELLS = 20_000_000
"""Applications times candidates of one figure: with many candidates fewer applications do."""
LEAST_APPLICATIONS = 200
CHOICES = ("posterior", "factored", "linucb", "protoar")
"""The default first, and one of each kind besides."""
WINDOW = 10
COLUMNS = 13
STEPS = 200
PEOPLE = 20
START_MS = 1_790_000_000_000


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    candidates: tuple[int, ...] = field(
        default=(10, 100, 1000, 10_000, 100_000), metadata={"quick": (10, 1000), "help": "how many candidates"}
    )
    applications: int = field(default=10_000, metadata={"quick": 1000, "help": "most applications of a figure"})


class Cost(NamedTuple):
    """Processor seconds of making a learner; median seconds of a choice by the clock, and of processor time."""

    making: float
    clock: float
    cpu: float


def candidates(args: Args) -> Iterator[Row]:
    """All figures: the choices alone, then whole applications."""
    random = np.random.default_rng(args.seeds[0])
    for choice in CHOICES:
        for count in args.candidates:
            cost = _one_choice(choice, count, random)
            progress(f"{choice} among {count:,}: {cost.cpu * 1e6:.1f} us of CPU, made in {cost.making:.1f} s of CPU")
            aim = AIM_CHOICE_SECONDS * 1e6 if count == AIM_CANDIDATES else None
            yield Row(f"{choice} chooses among {count:,}", cost.clock * 1e6, "us", aim=aim, better="lower")
            yield Row(f"{choice} chooses among {count:,}, CPU", cost.cpu * 1e6, "us CPU", better="lower")
            yield Row(f"{choice} is made for {count:,}", cost.making, "s CPU", better="lower")
    for count in args.candidates:
        seconds = _applications(args, count)
        progress(f"an application, {count:,} candidates: {seconds * 1e6:.1f} us of CPU")
        yield Row(f"an application, {count:,} candidates", seconds * 1e6, "us CPU", better="lower")


def _one_choice(name: str, count: int, random: np.random.Generator) -> Cost:
    """What a learner costs once it is compiled, every candidate being feasible."""
    points = random.random((count, COLUMNS))
    registry[name](points[:2], WINDOW)
    started = time.process_time()
    learner = registry[name](points, WINDOW)
    making = time.process_time() - started
    people, feasible, execution = random.random((PEOPLE, COLUMNS)), np.arange(count), random.random((PEOPLE, count))
    clock, cpu = [], []
    for step in range(STEPS):
        person, chances = people[step % PEOPLE], execution[step % PEOPLE]
        started, started_cpu = time.perf_counter(), time.thread_time()
        pick = learner.choose(person, feasible, chances, lambda: random)
        cpu.append(time.thread_time() - started_cpu)
        clock.append(time.perf_counter() - started)
        if pick is not None:
            learner.update(Pull(step, pick.candidate, pick.execution), 1.0)
    return Cost(making, median(clock), median(cpu))


def _applications(args: Args, count: int) -> float:
    """CPU seconds of one application."""
    number = max(min(args.applications, MOST_CELLS // count), LEAST_APPLICATIONS)
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as temporary:
        folder = Path(temporary)
        load = write_load(folder / "program", args.seeds[0], args.data, Shape(candidates=count))
        return asyncio.run(_serve(load, folder / "state", number))


async def _serve(load: Load, state: Path, number: int) -> float:
    async with MemoryWorker(load.spec, state) as worker:
        await worker.serve([load.application("warm-up", person, START_MS) for person in range(CHUNK)], START_MS)
        before = worker.cpu_seconds
        for start in range(0, number, CHUNK):
            people = [load.application("a", person, START_MS) for person in range(start, min(start + CHUNK, number))]
            await worker.serve(people, START_MS)
        return (worker.cpu_seconds - before) / number


if __name__ == "__main__":
    sys.exit(face.run(Args, candidates))
