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
TRIAL_CANDIDATES = 5000
"""A learner of so many is made first, to tell how long one of more would take."""
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
    patience_seconds: float = field(
        default=30.0, metadata={"help": "a learner that would take longer to be made is left out"}
    )


def candidates(args: Args) -> Iterator[Row]:
    """All figures: the choices alone, then whole applications."""
    random = np.random.default_rng(args.seeds[0])
    for choice in CHOICES:
        for count in args.candidates:
            if (making := _making(choice, count, random)) > args.patience_seconds:
                progress(f"{choice} among {count:,} is left out: to make it would take about {making:.0f} s")
                continue
            seconds = _one_choice(choice, count, random)
            progress(f"{choice} among {count:,}: {seconds * 1e6:.1f} us")
            aim = AIM_CHOICE_SECONDS * 1e6 if count == AIM_CANDIDATES else None
            yield Row(f"{choice} chooses among {count:,}", seconds * 1e6, "us", aim=aim, better="lower")
    for count in args.candidates:
        cost = _applications(args, count)
        progress(f"an application, {count:,} candidates: {cost * 1e6:.1f} us of CPU")
        yield Row(f"an application, {count:,} candidates", cost * 1e6, "us CPU", better="lower")


def _making(name: str, count: int, random: np.random.Generator) -> float:
    """Seconds that making a learner would take, were it to compare every candidate with every other."""
    if count <= TRIAL_CANDIDATES:
        return 0.0
    points = random.random((TRIAL_CANDIDATES, COLUMNS))
    registry[name](points[:2], WINDOW)
    started = time.perf_counter()
    registry[name](points, WINDOW)
    return (time.perf_counter() - started) * (count / TRIAL_CANDIDATES) ** 2


def _one_choice(name: str, count: int, random: np.random.Generator) -> float:
    """Median seconds of choosing once, every candidate being feasible."""
    learner = registry[name](random.random((count, COLUMNS)), WINDOW)
    people, feasible, execution = random.random((PEOPLE, COLUMNS)), np.arange(count), random.random((PEOPLE, count))
    seconds = []
    for step in range(STEPS):
        person, chances = people[step % PEOPLE], execution[step % PEOPLE]
        started = time.perf_counter()
        pick = learner.choose(person, feasible, chances, lambda: random)
        seconds.append(time.perf_counter() - started)
        if pick is not None:
            learner.update(Pull(step, pick.candidate, pick.execution), 1.0)
    return median(seconds)


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
