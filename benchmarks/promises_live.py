"""A new model over sockets: how long applications wait while ``--open`` open recourses are looked at.

The production worker on a real Kafka, if one can start, or on the embedded broker. After the recourses are open,
applications come at a steady rate: first alone, then while a new model is looked at. Another model follows, and the
worker is killed in the middle: what is told of the options afterwards must be complete, and nothing of it twice.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from onward.benchmarks import face
from onward.benchmarks.arena.broker import PARTITIONS, Kind, start_broker
from onward.benchmarks.arena.contender import RunTopics
from onward.benchmarks.arena.latency import latencies
from onward.benchmarks.arena.load import InputRecord, Load, Shape, rejected_by_all, write_load, write_moved_model
from onward.benchmarks.arena.onward_worker import ReadyWorker
from onward.benchmarks.face import Row, progress
from onward.benchmarks.promises import RADIUS
from onward.schemas.events import PromiseChange, Revalidation
from onward.streams.errors import OnwardError
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.outputs.deduplicator import Classification, Deduplicator
from onward.streams.topics import plan

AIM_OPEN, AIM_SECONDS, AIM_P99_SECONDS = 100_000, 60.0, 0.25
_READY_SECONDS, _STALL_SECONDS = 120.0, 300.0
_PORTION = 5000
"""How many applications are sent at once."""
_decode = msgspec.json.Decoder(PromiseChange | Revalidation).decode


@dataclass(frozen=True, kw_only=True)
class Args(face.Args):
    """The command line."""

    open: int = field(default=100_000, metadata={"quick": 1000, "help": "open recourses"})
    rate: float = field(default=50.0, metadata={"help": "applications a second while the models come"})
    seconds: float = field(default=20.0, metadata={"quick": 4.0, "help": "how long they come before and with a model"})
    moved: float = field(default=3.0, metadata={"help": "how far the new model is, in radii of the promise"})
    kill_after: float = field(default=1.0, metadata={"quick": 0.1, "help": "seconds until the worker is killed"})
    broker: Kind = field(default="auto", metadata={"help": "Kafka to run on; auto: a real one where there is one"})


def live(args: Args) -> Iterator[Row]:
    """All figures of one run."""
    shape = Shape(
        window={"time": "P90D"},
        choice="posterior",
        generator="search",
        options=3,
        promise={"kind": "lp", "radius": RADIUS, "valid_for": "P90D"},
    )
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as temporary:
        folder = Path(temporary)
        load = write_load(folder / "program", args.seeds[0], args.data, shape)
        write_moved_model(load, folder / "program" / "far", args.moved * RADIUS, args.seeds[0])
        write_moved_model(load, folder / "program" / "other", 2 * args.moved * RADIUS, args.seeds[0] + 1)
        load = rejected_by_all(load, (folder / "program" / name for name in ("far", "other")))
        with start_broker(folder, args.broker) as broker:
            topics = RunTopics(broker, "promises-live")
            broker.create(plan(topics.topics, PARTITIONS, 1))
            with EventReader(broker.options(), [topics.topics.promises]) as reader:
                yield from _measure(args, load, topics, PromisesTopic(reader), folder)


def _measure(args: Args, load: Load, topics: RunTopics, promises: PromisesTopic, folder: Path) -> Iterator[Row]:
    state, program = folder / "state", folder / "program"
    with ReadyWorker(topics, load.spec, state, folder / "worker.log") as worker:
        worker.ready(_READY_SECONDS)
        _open(args, load, topics, worker)
        alone = _wait(topics, load, "alone", args)
        began = time.monotonic()
        _announce(topics, load.announcement(program / "far", _now_ms()))
        ends: list[float] = []
        watcher = threading.Thread(target=lambda: ends.append(promises.wait_for("far") - began))
        watcher.start()
        beside = _wait(topics, load, "beside", args)
        watcher.join()
        _announce(topics, load.announcement(program / "other", _now_ms()))
        time.sleep(args.kill_after)
        worker.kill()
    with ReadyWorker(topics, load.spec, state, folder / "again.log") as worker:
        worker.ready(_READY_SECONDS)
        promises.wait_for("other")
    name, is_aim = f"{args.open:,} open recourses", args.open >= AIM_OPEN
    progress(
        "; ".join(f"{look.model}: {look.open:,} options, {look.broken:,} broken" for look in promises.looks.values())
    )
    yield Row(f"{name}, all told", ends[0], "s", aim=AIM_SECONDS if is_aim else None, better="lower")
    for percent in (50, 99):
        aim = AIM_P99_SECONDS if percent == 99 and is_aim else None
        values = [float(np.percentile(waits, percent)) for waits in (beside, alone)]
        title = f"p{percent} of applications beside a new model (reference: alone)"
        yield Row(title, values[0], "s", reference=values[1], aim=aim, better="lower")
    missing = sum(look.broken for look in promises.looks.values()) - promises.broken.total()
    yield Row("killed in the middle: broken options that are not told", float(missing), "", aim=0.0, better="lower")
    twice = sum(times - 1 for times in promises.broken.values())
    yield Row("killed in the middle: broken options that are told twice", float(twice), "", aim=0.0, better="lower")


class PromisesTopic:
    """What the topic of promises tells, without repeats: looks by version, and how often each option is broken."""

    def __init__(self, reader: EventReader) -> None:
        self._reader = reader
        self._repeats = Deduplicator()
        self.looks: dict[str, Revalidation] = {}
        self.broken: Counter[tuple[str, str, str | None]] = Counter()

    def wait_for(self, version: str) -> float:
        """Read until the look of a model is told; return when (``time.monotonic``)."""
        deadline = time.monotonic() + _STALL_SECONDS
        while version not in self.looks:
            if time.monotonic() > deadline:
                raise OnwardError(f"model {version} is not looked at after {_STALL_SECONDS:g} s")
            for record in self._reader.poll(0.1):
                if self._repeats.classify(record) is not Classification.NEW:
                    continue
                event = _decode(record.value or b"")
                if isinstance(event, Revalidation):
                    self.looks[event.model] = event
                elif event.reason == "model":
                    self.broken.update((event.application, id, str(event.model)) for id in event.options or ())
        return time.monotonic()


def _wait(topics: RunTopics, load: Load, name: str, args: Args) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The seconds that applications wait for their answers, at a steady rate."""
    records = load.applications(name, range(round(args.rate * args.seconds)))
    waits = latencies(topics, records, args.rate)
    progress(f"{name}: p99 {np.percentile(waits, 99) * 1000:.0f} ms")
    return np.asarray(waits)


def _announce(topics: RunTopics, model: InputRecord) -> None:
    with EventWriter(topics.broker.options()) as writer:
        writer.send(topics.topics.models, model.value, key=model.key, headers=model.headers)


def _open(args: Args, load: Load, topics: RunTopics, worker: ReadyWorker) -> None:
    """Send the applications whose options will be open, and wait for their answers; the embedded broker keeps few."""
    with topics.counting() as written:
        for first in range(0, args.open, _PORTION):
            last = min(args.open, first + _PORTION)
            topics.send(load.applications("a", range(first, last)))
            _await(written, last, worker)
            progress(f"{last:,} of {args.open:,} recourses are open on {topics.broker.name}")


def _await(written: Callable[[], int], count: int, worker: ReadyWorker) -> None:
    best, since = -1, time.monotonic()
    while (now := written()) < count:
        if now > best:
            best, since = now, time.monotonic()
        if worker.has_ended or time.monotonic() > since + _STALL_SECONDS:
            raise OnwardError(f"the worker stopped at {now} of {count} answers: {worker.last_line()}")
        time.sleep(0.2)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    sys.exit(face.run(Args, live))
