"""Processor time and memory of an application with 1,000 to 1,000,000 open recourses, and memory of open questions.

Onward without Kafka: ingest, partition processor and ledger in one process, a new one for every figure. Applications
fill the window first. The measured ones each close another recourse: the steady state of a long-running program.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from onward.benchmarks import face
from onward.benchmarks.arena.load import Load, Shape, write_load
from onward.benchmarks.arena.memory_worker import CHUNK, MemoryWorker
from onward.benchmarks.face import Row, progress
from onward.streams.errors import OnwardError
from onward.tests.support.process import resident_bytes

AIM_OPEN, AIM_MEGABYTES = 1_000_000, 600.0
AIM_ASKED, AIM_ASKED_MEGABYTES = 10_000, 100.0
START_MS = 1_790_000_000_000
SPACING_MS = 10
"""Event time between two applications."""


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    open: tuple[int, ...] = field(
        default=(1000, 10_000, 100_000, 1_000_000), metadata={"quick": (500, 3000), "help": "open recourses"}
    )
    applications: int = field(default=10_000, metadata={"quick": 1000, "help": "applications that are measured"})
    questions: int = field(default=AIM_ASKED, metadata={"quick": 100, "help": "people with an open question"})
    choice: Literal["linucb", "protoar"] = field(default="linucb", metadata={"help": "what picks the recourse"})
    patience_seconds: float = field(default=400.0, metadata={"help": "longest time to fill a window; else it is left"})


class Found(NamedTuple):
    """CPU seconds of one application with ``open`` recourses, resident bytes at the end, and their peak."""

    open: int
    cpu_seconds: float
    resident_bytes: int
    peak_bytes: int


class Asked(NamedTuple):
    """The number of people with an open question, CPU seconds of one of them, and the resident bytes that they add."""

    open: int
    cpu_seconds: float
    bytes: int


class Task(NamedTuple):
    """The arguments of a measuring process."""

    load: Load
    state: Path
    open: int
    applications: int
    patience_seconds: float


WINDOWS: Mapping[str, Any] = {
    "steps": lambda count: {"steps": count},
    "time": lambda count: {"time": f"PT{count * SPACING_MS / 1000:g}S", "lateness": "PT0S"},
}

ASKING = Shape(
    window={"time": "P90D"},
    choice="protoar",
    generator="plans",
    cost="mixed",
    elicitation={"tolerance": 0, "deadline": "P7D"},
)


def open_recourses(args: Args) -> Iterator[Row]:
    """All figures, kind of window by kind of window."""
    for kind in WINDOWS:
        found = [result for count in args.open if (result := _measure_alone(args, kind, count))]
        for result in found:
            title = f"{kind} window, {result.open:,} open"
            first = found[0].cpu_seconds
            yield Row(title, result.cpu_seconds * 1e6, "us CPU", reference=first * 1e6, better="lower")
        for result in found:
            title = f"{kind} window, {result.open:,} open, resident"
            aim = AIM_MEGABYTES if result.open == AIM_OPEN else None
            yield Row(title, result.resident_bytes / 1e6, "MB", aim=aim, better="lower")
        if found:
            peak = found[-1].peak_bytes / 1e6
            yield Row(f"{kind} window, {found[-1].open:,} open, at most", peak, "MB", better="lower")
    yield from _open_questions(args)


def _open_questions(args: Args) -> Iterator[Row]:
    added = _alone(args, ASKING, args.questions, ask)
    assert isinstance(added, Asked)
    title = f"{args.questions:,} people with open questions"
    aim = AIM_ASKED_MEGABYTES if args.questions == AIM_ASKED else None
    yield Row(f"{title}, added", added.bytes / 1e6, "MB", aim=aim, better="lower")
    yield Row("rejected people who are asked", added.open / args.questions, "share")
    yield Row("asking one of them", added.cpu_seconds * 1e3, "ms CPU", better="lower")


def _alone(args: Args, shape: Shape, count: int, measure: Callable[[Task], Found | Asked | int]) -> Found | Asked | int:
    """What a process of its own measures with the load of this shape."""
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as temporary:
        folder = Path(temporary)
        load = write_load(folder / "program", args.seeds[0], args.data, shape)
        task = Task(load, folder / "state", count, args.applications, args.patience_seconds)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            return process.submit(measure, task).result()


def _measure_alone(args: Args, kind: str, count: int) -> Found | None:
    found = _alone(args, Shape(window=WINDOWS[kind](count), choice=args.choice), count, fill)
    assert not isinstance(found, Asked)
    if isinstance(found, int):
        progress(f"{kind} window, {count:,} open: left out, {found:,} after {args.patience_seconds:g} s")
        return None
    cost, size = found.cpu_seconds * 1e6, found.resident_bytes / 1e6
    progress(f"{kind} window, {count:,} open: {cost:.1f} us of CPU an application, {size:,.0f} MB")
    return found


def fill(task: Task) -> Found | int:
    """Fill the window, then measure; return the number of open recourses when the time is over before."""
    return asyncio.run(_fill(task))


async def _fill(task: Task) -> Found | int:
    deadline = time.monotonic() + task.patience_seconds
    async with MemoryWorker(task.load.spec, task.state) as worker:
        for start in range(0, task.open, CHUNK):
            await _serve(worker, task.load, start, min(start + CHUNK, task.open))
            if time.monotonic() > deadline:
                return start
        before, closed = worker.cpu_seconds, worker.kafka.written[worker.topics.rewards]
        end = task.open + task.applications
        for start in range(task.open, end, CHUNK):
            await _serve(worker, task.load, start, min(start + CHUNK, end))
        closed = worker.kafka.written[worker.topics.rewards] - closed
        if abs(closed - task.applications) > CHUNK:
            raise OnwardError(f"{closed} recourses were closed by {task.applications} applications: not a steady state")
        cost, pid = (worker.cpu_seconds - before) / task.applications, os.getpid()
        return Found(task.open, cost, resident_bytes(pid), resident_bytes(pid, peak=True))


def ask(task: Task) -> Asked:
    """Ask this many people, after a first chunk of them, with which everything is loaded."""
    return asyncio.run(_ask(task))


async def _ask(task: Task) -> Asked:
    async with MemoryWorker(task.load.spec, task.state) as worker:
        first = min(CHUNK, task.open)
        await _serve(worker, task.load, 0, first)
        before, resident = worker.cpu_seconds, resident_bytes(os.getpid())
        asked = worker.kafka.written[worker.topics.questions]
        for start in range(first, first + task.open, CHUNK):
            await _serve(worker, task.load, start, min(start + CHUNK, first + task.open))
            progress(f"{start:,} people have a question")
        added = worker.kafka.written[worker.topics.questions] - asked
        return Asked(added, (worker.cpu_seconds - before) / task.open, resident_bytes(os.getpid()) - resident)


async def _serve(worker: MemoryWorker, load: Load, start: int, end: int) -> None:
    people = [load.application("a", number, START_MS + number * SPACING_MS) for number in range(start, end)]
    await worker.serve(people, START_MS + (end - 1) * SPACING_MS)


if __name__ == "__main__":
    sys.exit(face.run(Args, open_recourses))
