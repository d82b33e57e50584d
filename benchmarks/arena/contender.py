"""A contender: a process that reads applications and writes something for each of them, measured from outside.

with Contender("raw aiokafka", command, lane, folder) as contender:
    contender.reach(1000)                  # it is up, and has served the warm-up
    with contender.held():                 # what the block sends is there before the contender sees any of it
        send(applications)
    effort = contender.reach(21_000)       # seconds and CPU-seconds since it was let go
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

import confluent_kafka

from onward.benchmarks.arena.broker import PARTITIONS, Broker
from onward.benchmarks.arena.load import Sent
from onward.streams.errors import BrokerError, OnwardError
from onward.streams.kafka.client import EventWriter
from onward.streams.topics import Topics

LOOK_SECONDS = 0.01
_PATIENCE_SECONDS = 120.0
_REPLY_SECONDS = 10.0
_NOT_YET = {
    confluent_kafka.KafkaError.NOT_LEADER_FOR_PARTITION,
    confluent_kafka.KafkaError.LEADER_NOT_AVAILABLE,
    confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART,
}
_STOP_SECONDS = 15.0
_SCHEDULED = 2


class Effort(NamedTuple):
    """What some work took: by the clock, and of the contender's processor time (user and system, all threads)."""

    seconds: float
    cpu_seconds: float


class Lane:
    """The topics of one contender's run on the shared broker; only applications and recourse matter to all."""

    def __init__(self, broker: Broker, name: str) -> None:
        self.broker = broker
        self.topics = Topics(prefix=f"{name}.")
        self.name = name

    def send(self, records: Iterable[Sent]) -> None:
        """Send applications; return when all are acknowledged."""
        with EventWriter(self.broker.options()) as writer:
            for key, value, headers in records:
                writer.send(self.topics.applications, value, key=key, headers=headers)

    @contextmanager
    def counting(self) -> Iterator[Callable[[], int]]:
        """Counts what was written to the output so far: a few requests, no record is read."""
        settings = {**self.broker.options().confluent(), "group.id": "counting", "enable.auto.commit": False}
        consumer = confluent_kafka.Consumer(settings)
        places = [confluent_kafka.TopicPartition(self.topics.recourse, number) for number in range(PARTITIONS)]
        try:
            yield lambda: sum(_end(consumer, place) for place in places)
        finally:
            consumer.close()


class Contender:
    """One process on one lane. Entering the context starts it, leaving stops it."""

    def __init__(
        self, name: str, command: Sequence[str], lane: Lane, log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.lane = lane
        self._command = command
        self._environment = {key: value for key, value in os.environ.items() if not key.startswith("ONWARD_")}
        self._environment |= environment or {}
        self._log = log
        self._since = Effort(0.0, 0.0)

    def reach(self, count: int) -> Effort:
        """Wait until so many records are written, and return what it took since the contender was let go.

        Raise ``OnwardError`` when the contender ends or stands still.
        """
        with self.lane.counting() as written:
            best, progress = -1, time.monotonic()
            while (now := written()) < count:
                if now > best:
                    best, progress = now, time.monotonic()
                if self._process.poll() is not None or time.monotonic() > progress + _PATIENCE_SECONDS:
                    raise OnwardError(f"{self.name} stopped at {now} of {count} records: {self._last_words()}")
                time.sleep(LOOK_SECONDS)
            effort = Effort(time.monotonic() - self._since.seconds, self._cpu_seconds() - self._since.cpu_seconds)
        if now != count:
            raise OnwardError(f"{self.name} wrote {now} records for {count} applications")
        return effort

    @contextmanager
    def held(self) -> Iterator[None]:
        """The process stands still while the block runs; efforts count from its end."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
            self._since = Effort(time.monotonic(), self._cpu_seconds())
        finally:
            self._process.send_signal(signal.SIGCONT)

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                # Stock Faust leaves a folder where it starts.
                cwd=self._log.parent,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _cpu_seconds(self) -> float:
        # What clock_getcpuclockid(3) gives for a process on Linux: nanoseconds, where /proc counts hundredths.
        return time.clock_gettime((~self._process.pid << 3) | _SCHEDULED)

    def _last_words(self) -> str:
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1][-300:] if lines else "it said nothing"


def _end(consumer: confluent_kafka.Consumer, place: confluent_kafka.TopicPartition) -> int:
    """The end offset; 0 while a new topic's leader is still on its way to all who should know it."""
    try:
        end: int = consumer.get_watermark_offsets(place, timeout=_REPLY_SECONDS)[1]
    except confluent_kafka.KafkaException as error:
        if error.args[0].code() not in _NOT_YET:
            raise BrokerError(f"the end of {place.topic} is not known: {error.args[0].str()}") from error
        return 0
    return end
