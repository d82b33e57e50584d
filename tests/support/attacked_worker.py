"""A worker of 1 GB on an embedded broker, and what somebody sends to harm it, between good records.

    with attacked_worker(tmp_path) as worker:
        await worker.withstands([worker.record("applications", hostile)])

The worker must stay alive, answer the good records around an attack soon, and hardly grow.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from onward.schemas.events import Application
from onward.streams.kafka.client import EventReader, EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.topics import Topics
from onward.tests.support.process import WatchedProcess, resident_bytes
from onward.tests.support.programs import POLICIES, write_programs

TOPICS = Topics()
WORKER_BYTES = 1 << 30
MOST_GROWTH_BYTES = 300 << 20
MOST_SECONDS = 5.0
START_SECONDS = 60.0
PERSON: Mapping[str, str | float] = {"region": "north", "income": 1.0, "debts": 0}
_FORGET_PEAK = "5"


class Sent(NamedTuple):
    """A record that somebody sends."""

    topic: str
    value: bytes
    id: str = "attack"
    headers: Sequence[tuple[str, bytes]] = ()
    key: bytes | None = None
    partition: int = 0


class AttackedWorker(WatchedProcess):
    """A worker of one program (``program``) whose memory is limited from its start.

    ``letters`` are the dead letters that it has published.
    """

    program = "steps"

    def __init__(self, broker: EmbeddedBroker, command: Sequence[str], log: Path) -> None:
        super().__init__(command, log)
        self._options = broker.options()
        self._good = 0
        self._answered: set[str] = set()
        self.letters: list[Mapping[str, Any]] = []

    async def withstands(self, attack: Sequence[Sent], seconds: float = MOST_SECONDS) -> None:
        """Send an attack between good records, and check what it does to the worker."""
        before = self._begin_measuring()
        await asyncio.to_thread(self._send, [self._next_good(), *attack, self._next_good()])
        await asyncio.to_thread(self._wait_for_answers, seconds)
        grown = resident_bytes(self._process.pid, peak=True) - before
        assert grown <= MOST_GROWTH_BYTES, f"grew by {grown >> 20} MB"

    async def is_ready(self) -> None:
        """Wait until the worker answers."""
        await asyncio.to_thread(self._send, [self._next_good()])
        await asyncio.to_thread(self._wait_for_answers, START_SECONDS)

    def start(self) -> None:
        """Limit the memory of its own: further allocations fail. The reader sees what is published from here on."""
        resource.prlimit(self._process.pid, resource.RLIMIT_DATA, (WORKER_BYTES, resource.RLIM_INFINITY))
        self._reader = EventReader(self._options, [TOPICS.recourse, TOPICS.dead_letters])

    def close(self) -> None:
        """Close the connection."""
        self._reader.close()

    def _begin_measuring(self) -> int:
        Path(f"/proc/{self._process.pid}/clear_refs").write_text(_FORGET_PEAK)
        return resident_bytes(self._process.pid)

    def _next_good(self) -> Sent:
        self._good += 1
        name = f"good-{self._good}"
        return Sent(TOPICS.applications, msgspec.json.encode(Application(self.program, name, PERSON)), name)

    def _send(self, records: Sequence[Sent]) -> None:
        with EventWriter(self._options) as writer:
            for own in records:
                headers = [("ce_id", own.id.encode()), *own.headers]
                writer.send(own.topic, own.value, key=own.key, headers=headers, partition=own.partition)

    def _wait_for_answers(self, seconds: float) -> None:
        wanted = {f"good-{number}" for number in range(1, self._good + 1)}
        deadline = time.monotonic() + seconds
        while not wanted <= self._answered:
            for record in self._reader.poll(0.1):
                event = msgspec.json.decode(record.value or b"")
                if record.topic == TOPICS.dead_letters:
                    self.letters.append(event)
                else:
                    self._answered.add(event["application"])
            assert not self.has_ended, self.last_line()
            assert time.monotonic() < deadline, f"{sorted(wanted - self._answered)} not answered in {seconds:g} s"


@contextmanager
def attacked_worker(folder: Path, *flags: str, width: int = 1) -> Iterator[AttackedWorker]:
    """A worker in a process of its own, which has begun; every topic has ``width`` partitions."""
    [spec] = write_programs(folder, {AttackedWorker.program: POLICIES[AttackedWorker.program]})
    with EmbeddedBroker(dict.fromkeys((*TOPICS.inputs, TOPICS.journal, *TOPICS.outputs), width)) as broker:
        own = ["--brokers", broker.bootstrap, "--spec", str(spec), "--state-dir", str(folder / "state"), "--no-web"]
        command = [sys.executable, "-P", "-m", "onward", "worker", *own, *flags]
        with AttackedWorker(broker, command, folder / "log") as worker:
            worker.start()
            try:
                yield worker
            finally:
                worker.close()
