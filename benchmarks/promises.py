"""Processor time and memory of a new model, with 1,000 to 100,000 open recourses.

Onward without Kafka: ingest, partition processor and ledger in one process, a new one for every figure. The model is
linear and its promise a ball in L2. The new model is ``--moved`` times as far away as the promise covers, so that all
options are looked at and some are broken; a second one is a hundredth of that from the first, and few are looked at. A
piece is what one tick does: applications wait for it.
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
from typing import NamedTuple

import msgspec

from onward.benchmarks import face
from onward.benchmarks.arena.load import Load, Shape, write_load, write_moved_model
from onward.benchmarks.arena.memory_worker import CHUNK, MemoryWorker
from onward.benchmarks.face import Row, progress
from onward.schemas.events import Revalidation
from onward.tests.support.process import resident_bytes

AIM_OPEN, AIM_OPTIONS_PER_SECOND, AIM_SECONDS, AIM_PIECE_SECONDS = 100_000, 20_000.0, 60.0, 0.25
START_MS = 1_790_000_000_000
RADIUS = 0.2


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    open: tuple[int, ...] = field(
        default=(1000, 10_000, 100_000), metadata={"quick": (200, 1000), "help": "open recourses"}
    )
    moved: float = field(default=3.0, metadata={"help": "how far the new model is, in radii of the promise"})


class Found(NamedTuple):
    """CPU seconds of an application before; what the new model meant, with the CPU seconds until all is told and of the
    longest piece; the peak of resident bytes; and the same of the near model."""

    filled_seconds: float
    look: Revalidation
    cpu_seconds: float
    piece_seconds: float
    peak_bytes: int
    near: Revalidation
    near_seconds: float


class Task(NamedTuple):
    """The arguments of a measuring process."""

    load: Load
    state: Path
    folder: Path
    open: int


def promises(args: Args) -> Iterator[Row]:
    """All figures, by the number of open recourses."""
    for count in args.open:
        found = _measure_alone(args, count)
        is_aim = count == AIM_OPEN
        look, options = found.look, found.look.open
        progress(
            f"{count:,} recourses, {options:,} options: {look.accepted:,} accepted, {look.broken:,} broken, "
            f"{look.replaced:,} of them replaced; near model: {found.near.cleared:,} of {found.near.open:,} cleared"
        )
        name = f"{count:,} open recourses"
        yield Row(f"{name}, application", found.filled_seconds * 1e6, "us CPU", better="lower")
        yield Row(f"{name}, new model", found.cpu_seconds, "CPU-s", aim=AIM_SECONDS if is_aim else None, better="lower")
        speed_aim = AIM_OPTIONS_PER_SECOND if is_aim else None
        yield Row(f"{name}, options told", options / found.cpu_seconds, "1/CPU-s", aim=speed_aim)
        yield Row(f"{name}, broken", look.broken / options, "share")
        piece_aim = AIM_PIECE_SECONDS * 1e3 if is_aim else None
        yield Row(f"{name}, longest piece", found.piece_seconds * 1e3, "ms CPU", aim=piece_aim, better="lower")
        yield Row(f"{name}, near model", found.near_seconds, "CPU-s", better="lower")
        yield Row(f"{name}, at most", found.peak_bytes / 1e6, "MB", better="lower")


def _measure_alone(args: Args, count: int) -> Found:
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as temporary:
        folder = Path(temporary)
        shape = Shape(
            window={"time": "P90D"},
            choice="posterior",
            generator="search",
            options=3,
            promise={"kind": "lp", "radius": RADIUS, "valid_for": "P90D"},
        )
        load = write_load(folder / "program", args.seeds[0], args.data, shape)
        write_moved_model(load, folder / "program" / "far", args.moved * RADIUS, args.seeds[0])
        write_moved_model(load, folder / "program" / "nearer", (args.moved + 0.01) * RADIUS, args.seeds[0])
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            task = Task(load, folder / "state", folder / "program", count)
            return process.submit(revalidate, task).result()


def revalidate(task: Task) -> Found:
    """Let everybody apply, then announce the new models, and look at the open options piece by piece."""
    return asyncio.run(_revalidate(task))


async def _revalidate(task: Task) -> Found:
    async with MemoryWorker(task.load.spec, task.state) as worker:
        for start in range(0, task.open, CHUNK):
            numbers = range(start, min(start + CHUNK, task.open))
            people = [task.load.application("a", number, START_MS) for number in numbers]
            await worker.serve(people, START_MS)
        filled = worker.cpu_seconds / task.open
        before, longest = worker.cpu_seconds, 0.0
        await worker.announce(task.load.announcement(task.folder / "far", START_MS), START_MS)
        while worker.is_closing:
            piece = worker.cpu_seconds
            await worker.carry_on()
            longest = max(longest, worker.cpu_seconds - piece)
        far_seconds = worker.cpu_seconds - before
        look = _decode(await worker.last(worker.topics.promises))
        await worker.announce(task.load.announcement(task.folder / "nearer", START_MS), START_MS)
        while worker.is_closing:
            await worker.carry_on()
        near_seconds = worker.cpu_seconds - before - far_seconds
        near = _decode(await worker.last(worker.topics.promises))
        peak = resident_bytes(os.getpid(), peak=True)
        return Found(filled, look, far_seconds, longest, peak, near, near_seconds)


_decode = msgspec.json.Decoder(Revalidation).decode


if __name__ == "__main__":
    sys.exit(face.run(Args, promises))
