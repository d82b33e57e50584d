"""A contender: processes that read applications and write something for each of them, measured from outside.

with Contender("raw aiokafka", lane, [WatchedProcess(command, log)]) as contender:
    contender.reach(1000)                  # it is up, and has served the warm-up
    with contender.suspended():                 # what the block sends is there before the contender sees any of it
        send(applications)
    effort = contender.reach(21_000)       # seconds and CPU-seconds since it was let go
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple, Self

import confluent_kafka

from onward.benchmarks.arena.broker import PARTITIONS, Broker
from onward.benchmarks.arena.load import Sent
from onward.streams.errors import BrokerError, OnwardError
from onward.streams.kafka.client import EventWriter
from onward.streams.topics import Topics
from onward.tests.support.process import WatchedProcess

LOOK_SECONDS = 0.01
_PATIENCE_SECONDS = 120.0
_REPLY_SECONDS = 10.0
_NOT_YET = {
    confluent_kafka.KafkaError.NOT_LEADER_FOR_PARTITION,
    confluent_kafka.KafkaError.LEADER_NOT_AVAILABLE,
    confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART,
}


class Effort(NamedTuple):
    """What some work took: by the clock, and of the processor time (user and system) of all the contender's threads and
    processes."""

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
    """One process or several on one lane. Entering the context starts them, leaving stops them."""

    def __init__(self, name: str, lane: Lane, processes: Sequence[WatchedProcess]) -> None:
        self.name = name
        self.lane = lane
        self.processes = processes
        self._since = Effort(0.0, 0.0)
        self._running = ExitStack()

    def reach(self, count: int) -> Effort:
        """Wait until so many records are written, and return what it took since the contender was let go.

        Raise ``OnwardError`` when the contender ends, stands still, or writes more.
        """
        with self.lane.counting() as written:
            best, progress = -1, time.monotonic()
            while (now := written()) < count:
                if now > best:
                    best, progress = now, time.monotonic()
                self._check(f"stopped at {now} of {count} records", progress)
                time.sleep(LOOK_SECONDS)
            effort = Effort(time.monotonic() - self._since.seconds, self.cpu_seconds() - self._since.cpu_seconds)
        if now != count:
            raise OnwardError(f"{self.name} wrote {now} records for {count} applications")
        return effort

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """The processes stand still while the block runs; efforts count from its end."""
        for process in self.processes:
            process.suspend()
        try:
            yield
            self._since = Effort(time.monotonic(), self.cpu_seconds())
        finally:
            for process in self.processes:
                process.resume()

    def cpu_seconds(self) -> float:
        """Processor time so far."""
        return sum(process.cpu_seconds() for process in self.processes)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for process in self.processes:
                stack.enter_context(process)
            self._running = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._running.close()

    def _check(self, where: str, progress: float) -> None:
        for process in self.processes:
            if process.has_ended or time.monotonic() > progress + _PATIENCE_SECONDS:
                raise OnwardError(f"{self.name} {where}: {process.last_line()}")


def _end(consumer: confluent_kafka.Consumer, place: confluent_kafka.TopicPartition) -> int:
    """The end offset; 0 while a new topic's leader is still on its way to all who should know it."""
    try:
        end: int = consumer.get_watermark_offsets(place, timeout=_REPLY_SECONDS)[1]
    except confluent_kafka.KafkaException as error:
        if error.args[0].code() not in _NOT_YET:
            raise BrokerError(f"the end of {place.topic} is not known: {error.args[0].str()}") from error
        return 0
    return end
