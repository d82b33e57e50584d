"""Processor time and memory of a round with limited places, of 1,000 to 100,000 applicants.

Onward without Kafka: ingest, partition processor and ledger in one process, a new one for every figure. All applicants
are rejected, so all of them are answered with options. A piece is what one tick does for the round: other programs
wait for it.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from onward.benchmarks import face
from onward.benchmarks.arena.load import Load, Shape, write_load
from onward.benchmarks.arena.memory_worker import CHUNK, MemoryWorker
from onward.benchmarks.face import Row, progress
from onward.tests.support.process import resident_bytes

AIM_APPLICANTS, AIM_SECONDS, AIM_MEGABYTES, AIM_PIECE_SECONDS = 100_000, 40.0, 600.0, 0.25
DAY_MS = 24 * 60 * 60 * 1000
START_MS = 20_000 * DAY_MS + 1
"""Just after the end of a day, which is the end of a round."""


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    applicants: tuple[int, ...] = field(
        default=(1000, 10_000, 100_000), metadata={"quick": (200, 1500), "help": "applicants of the round"}
    )
    generator: Literal["search", "maximal_success"] = field(
        default="search", metadata={"help": "what proposes options"}
    )


class Found(NamedTuple):
    """CPU seconds to close a round, of its longest piece after the first, and the peak of resident bytes."""

    cpu_seconds: float
    piece_seconds: float
    peak_bytes: int


class Task(NamedTuple):
    """The arguments of a measuring process."""

    load: Load
    state: Path
    applicants: int


def rounds(args: Args) -> Iterator[Row]:
    """All figures, by the number of applicants."""
    for count in args.applicants:
        found = _measure_alone(args, count)
        is_aim = count == AIM_APPLICANTS
        each = found.cpu_seconds / count * 1e6
        progress(f"{count:,} applicants: {found.cpu_seconds:.2f} s of CPU, {each:.0f} us each")
        name = f"{count:,} applicants"
        yield Row(f"{name}, to close", found.cpu_seconds, "CPU-s", aim=AIM_SECONDS if is_aim else None, better="lower")
        piece_aim = AIM_PIECE_SECONDS * 1e3 if is_aim else None
        yield Row(f"{name}, longest piece", found.piece_seconds * 1e3, "ms CPU", aim=piece_aim, better="lower")
        memory_aim = AIM_MEGABYTES if is_aim else None
        yield Row(f"{name}, at most", found.peak_bytes / 1e6, "MB", aim=memory_aim, better="lower")


def _measure_alone(args: Args, count: int) -> Found:
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as temporary:
        folder = Path(temporary)
        shape = Shape(
            window={"time": "P90D"},
            choice="posterior",
            generator=args.generator,
            options=3,
            goal="capacity",
            capacity={"places": max(1, count // 4), "round": "P1D"},
        )
        load = write_load(folder / "program", args.seeds[0], args.data, shape)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            return process.submit(close, Task(load, folder / "state", count)).result()


def close(task: Task) -> Found:
    """Let everybody apply, then close the round piece by piece."""
    return asyncio.run(_close(task))


async def _close(task: Task) -> Found:
    async with MemoryWorker(task.load.spec, task.state) as worker:
        # A small round first: compiled functions are loaded, and there is a threshold to begin with.
        await _apply(worker, task.load, "first", CHUNK, START_MS)
        await worker.pass_time(START_MS + 2 * DAY_MS)
        while worker.is_closing:
            await worker.carry_on()
        await _apply(worker, task.load, "second", task.applicants, START_MS + 2 * DAY_MS)
        before, longest = worker.cpu_seconds, 0.0
        await worker.pass_time(START_MS + 4 * DAY_MS)
        while worker.is_closing:
            piece = worker.cpu_seconds
            await worker.carry_on()
            longest = max(longest, worker.cpu_seconds - piece)
        return Found(worker.cpu_seconds - before, longest, resident_bytes(os.getpid(), peak=True))


async def _apply(worker: MemoryWorker, load: Load, name: str, count: int, time_ms: int) -> None:
    for start in range(0, count, CHUNK):
        people = [load.application(name, number, time_ms) for number in range(start, min(start + CHUNK, count))]
        await worker.serve(people, time_ms)


if __name__ == "__main__":
    sys.exit(face.run(Args, rounds))
