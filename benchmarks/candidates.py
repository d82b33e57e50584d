"""The cost of an application with 10 to 100,000 candidates.

It is measured twice: for an application's way through ingest, engine and ledger, without Kafka; and for the choice
alone, with the person's options as input. TAP's verifier and the decision model are logistic: the cost of other models
comes on top.
"""

from __future__ import annotations

import asyncio
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from onward.agents.choices import Choice, Pull, registry
from onward.agents.options import Options
from onward.benchmarks import face
from onward.benchmarks.arena.load import Load, Shape, write_load
from onward.benchmarks.arena.memory_worker import CHUNK, MemoryWorker
from onward.benchmarks.face import Row, progress
from onward.benchmarks.improvement.choices import Verifier, fit_verifier
from onward.streams.errors import UsageError
from onward.streams.programs.models.scoring import scorer

Floats = NDArray[np.float64]

AIM_CANDIDATES, AIM_CHOICE_SECONDS = 100_000, 0.005
MOST_CELLS = 20_000_000
"""Applications times candidates of one figure: with many candidates fewer applications do."""
LEAST_APPLICATIONS = 200
CHOICES = ("residual", "stages", "posterior", "emc", "linucb", "protoar", "tap", "bwo_ucb", "gp_ucb")
"""The default first, those whose cost grows with the picks they remember last."""
WINDOW = 10
COLUMNS = 13
WARM_UP_CANDIDATES, WARM_UP_STEPS = 20, 25
"""Enough for everything that is compiled to be."""
PEOPLE = 20
START_MS = 1_790_000_000_000


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    candidates: tuple[int, ...] = field(
        default=(10, 100, 1000, 10_000, 100_000), metadata={"quick": (10, 1000), "help": "how many candidates"}
    )
    applications: int = field(default=10_000, metadata={"quick": 1000, "help": "most applications of a figure"})
    choices: tuple[str, ...] = field(default=CHOICES, metadata={"help": "the choices to measure"})
    steps: int = field(default=200, metadata={"quick": 50, "help": "decisions of each choice"})
    patience_seconds: float = field(default=120.0, metadata={"quick": 5.0, "help": "longest time of a choice's steps"})


class Cost(NamedTuple):
    """Processor seconds of making a learner; seconds of each choice by the clock, and of processor time, (T,)."""

    making: float
    clock: Floats
    cpu: Floats


def candidates(args: Args) -> Iterator[Row]:
    """All figures: the choices alone, then whole applications."""
    if unknown := sorted(set(args.choices) - registry.keys()):
        raise UsageError(f"--choices: there is no {unknown[0]!r}, choose among {', '.join(CHOICES)}")
    if args.steps < 1:
        raise UsageError(f"--steps {args.steps}: give a number from 1")
    random = np.random.default_rng(args.seeds[0])
    for choice in args.choices:
        _steps(_learner(choice, random.random((WARM_UP_CANDIDATES, COLUMNS))), WARM_UP_STEPS, math.inf, random)
        for count in args.candidates:
            yield from _rows(choice, count, _one_choice(choice, count, args, random), args.steps)
    for count in args.candidates:
        seconds = _applications(args, count)
        progress(f"an application, {count:,} candidates: {seconds * 1e6:.1f} us of CPU")
        yield Row(f"an application, {count:,} candidates", seconds * 1e6, "us CPU", better="lower")


def _rows(choice: str, count: int, cost: Cost, steps: int) -> Iterator[Row]:
    """The figures of a choice among ``count``; when patience ended early, one row gives the steps taken."""
    title = f"{choice} chooses among {count:,}"
    aim = AIM_CHOICE_SECONDS * 1e6 if count == AIM_CANDIDATES else None
    middle, cpu_middle = float(np.median(cost.clock)) * 1e6, float(np.median(cost.cpu)) * 1e6
    slow, cpu_slow = float(np.percentile(cost.clock, 99)) * 1e6, float(np.percentile(cost.cpu, 99)) * 1e6
    progress(f"{title}: {cpu_middle:.1f} us of CPU, p99 {cpu_slow:.1f}, made in {cost.making:.1f} s of CPU")
    yield Row(title, middle, "us", aim=aim, better="lower")
    yield Row(f"{title}, p99", slow, "us", aim=aim, better="lower")
    yield Row(f"{title}, CPU", cpu_middle, "us CPU", better="lower")
    yield Row(f"{title}, CPU p99", cpu_slow, "us CPU", better="lower")
    yield Row(f"{choice} is made for {count:,}", cost.making, "s CPU", better="lower")
    if len(cost.clock) < steps:
        yield Row(f"{title}, steps taken", len(cost.clock), "", reference=steps)


def _one_choice(name: str, count: int, args: Args, random: np.random.Generator) -> Cost:
    """The cost of a learner once it is compiled, when every candidate is feasible."""
    points = random.random((count, COLUMNS))
    started = time.process_time()
    learner = _learner(name, points)
    making = time.process_time() - started
    return Cost(making, *_steps(learner, args.steps, args.patience_seconds, random))


def _learner(name: str, points: Floats) -> Choice:
    learner = registry[name](points, WINDOW)
    learner.equip(**{name: _ARTEFACTS[name]() for name in learner.needs})
    return learner


@cache
def _verifier() -> Verifier:
    """The verifier that a program with a logistic model trains, for random people."""
    random = np.random.default_rng(0)
    people = random.random((1000, COLUMNS))
    labels = (people @ random.normal(size=COLUMNS) > 0).astype(np.int64)
    model = LogisticRegression(max_iter=1000).fit(people, labels)
    fitted = fit_verifier(model, people, labels, np.random.RandomState(0))
    agreement, confidence = scorer(fitted.estimator, 2 * COLUMNS), scorer(model, COLUMNS)
    return Verifier(agreement.score, confidence.score, fitted.tolerance)


_ARTEFACTS: Mapping[str, Callable[[], Any]] = {"verifier": _verifier, "features": lambda: COLUMNS}


def _steps(learner: Choice, steps: int, patience_seconds: float, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Seconds by the clock and of processor time of each choice, (T,); fewer than ``steps`` when patience ends."""
    count, points = learner.arms, learner.points
    people, arms, execution = random.random((PEOPLE, COLUMNS)), np.arange(count), random.random((PEOPLE, count))
    clock, cpu = [], []
    deadline = time.monotonic() + patience_seconds
    for step in range(steps):
        options = Options(people[step % PEOPLE], arms, points, arms, execution[step % PEOPLE])
        started, started_cpu = time.perf_counter(), time.thread_time()
        pick = learner.choose(options, lambda: random)
        cpu.append(time.thread_time() - started_cpu)
        clock.append(time.perf_counter() - started)
        if pick is not None:
            learner.update(Pull(step, pick.arm, pick.execution, pick.context), 1.0)
        if time.monotonic() > deadline:
            break
    return np.array(clock), np.array(cpu)


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
