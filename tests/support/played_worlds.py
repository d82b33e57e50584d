"""Worlds of the demo that are played by a worker of their own, over real sockets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from onward.environments.figures.recording import Recording
from onward.environments.figures.sections import RunView
from onward.environments.play.contract import SimulatedWorld
from onward.environments.play.driver import connect, drive, read_rest
from onward.streams.cli.process.worker_process import WorkerProcess
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.outputs.decoder import DecodedEvent, EventDecoder
from onward.streams.records import Record
from onward.streams.settings import BrokerSettings
from onward.streams.topics import Topics

TOPICS = Topics()


@contextmanager
def served(specs: Iterable[Path], state: Path, partitions: int) -> Iterator[tuple[EmbeddedBroker, WorkerProcess]]:
    """A broker, and a worker that serves some specs with its state in a folder."""
    names = (*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs)
    flags = ["--spec", ",".join(map(str, specs)), "--state-dir", str(state), "--no-web"]
    flags += ["--fetch-wait-seconds", "0.002", "--tick-seconds", "0"]
    with (
        EmbeddedBroker(dict.fromkeys(names, partitions)) as broker,
        WorkerProcess(
            BrokerSettings.model_validate({"brokers": (broker.bootstrap,)}), flags, state.with_suffix(".log")
        ) as worker,
    ):
        yield broker, worker


def summary_of(world: SimulatedWorld, specs: Mapping[str, Path], folder: Path, partitions: int) -> dict[str, Any]:
    """What the demo would print of a world whose programs a worker serves, with its state in ``folder``."""
    scoreboards = world.scoreboards(specs, every=10)
    simulation = world.play(specs, scoreboards)
    recording = Recording(simulation.is_rejected)

    def count(record: Record, read: DecodedEvent, now_ms: float) -> None:
        recording.add(record, read.id, read.event, now_ms)

    topics = (*EventDecoder(TOPICS).topics, TOPICS.journal)
    with (
        served(specs.values(), folder, partitions) as (broker, worker),
        connect(broker.options(), TOPICS, topics, "beginning") as client,
    ):
        drive(
            simulation,
            client,
            on_event=count,
            on_poll=worker.check,
            patience_seconds=3600,
            advice=worker.last_log_line,
        )
        worker.stop()
        read_rest(client, count)
    summary = recording.summary({world.policy_of(name): board.now for name, board in scoreboards.items()})
    printed: dict[str, Any] = json.loads(RunView(summary, world.show(recording, summary)).encoded)
    return printed
