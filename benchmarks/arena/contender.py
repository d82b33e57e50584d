"""A contender: processes that read applications and write one record for each, measured from outside.

with Contender("raw aiokafka", run_topics, [WatchedProcess(command, log)]) as contender:
    contender.reach(1000)                  # it has started, and has served the warm-up
    with contender.suspended():            # all records are on the broker before the contender reads one
        send(applications)
    usage = contender.reach(21_000)        # seconds and CPU-seconds since it was resumed
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple, Self

import confluent_kafka

from onward.benchmarks.arena.broker import PARTITIONS, Broker
from onward.benchmarks.arena.load import InputRecord
from onward.streams.errors import BrokerError, OnwardError
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.options import KafkaOptions
from onward.streams.topics import Topics
from onward.tests.support.process import WatchedProcess

POLL_SECONDS = 0.01
_STALL_SECONDS = 120.0
_REPLY_SECONDS = 10.0
_NOT_YET = {
    confluent_kafka.KafkaError.NOT_LEADER_FOR_PARTITION,
    confluent_kafka.KafkaError.LEADER_NOT_AVAILABLE,
    confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART,
}


class Usage(NamedTuple):
    """Elapsed time, and processor time (user and system) of all threads and processes of the contender."""

    seconds: float
    cpu_seconds: float


class RunTopics:
    """The topics of one run on the shared broker. Every contender uses applications and recourse."""

    def __init__(self, broker: Broker, name: str, partitions: int = PARTITIONS) -> None:
        self.broker = broker
        self.partitions = partitions
        self.topics = Topics(prefix=f"{name}.")
        self.name = name

    def send(self, records: Iterable[InputRecord]) -> None:
        """Send applications; return when all are acknowledged."""
        with EventWriter(self.broker.options()) as writer:
            for key, value, headers in records:
                writer.send(self.topics.applications, value, key=key, headers=headers)

    def group_options(self) -> KafkaOptions:
        """Return the options of the group of the run's workers."""
        return dataclasses.replace(self.broker.options(), group=self.name)

    def answered(self) -> list[int]:
        """Return the records in each partition of the output topic, from end offsets."""
        with self._ends() as ends:
            return ends()

    @contextmanager
    def counting(self) -> Iterator[Callable[[], int]]:
        """Return a function that counts the records in the output topic."""
        with self._ends() as ends:
            yield lambda: sum(ends())

    @contextmanager
    def _ends(self) -> Iterator[Callable[[], list[int]]]:
        settings = {**self.broker.options().confluent(), "group.id": "counting", "enable.auto.commit": False}
        consumer = confluent_kafka.Consumer(settings)
        places = [confluent_kafka.TopicPartition(self.topics.recourse, number) for number in range(self.partitions)]
        try:
            yield lambda: [_end(consumer, place) for place in places]
        finally:
            consumer.close()


class Contender:
    """One or several processes on the topics of a run. Entering the context starts them, leaving stops them."""

    def __init__(self, name: str, run_topics: RunTopics, processes: Sequence[WatchedProcess]) -> None:
        self.name = name
        self.run_topics = run_topics
        self.processes = processes
        self._since = Usage(0.0, 0.0)
        self._running = ExitStack()

    def reach(self, count: int) -> Usage:
        """Wait until ``count`` records are written; return the usage since the contender was resumed.

        Raise ``OnwardError`` when the contender ends, makes no progress, or writes more records.
        """
        with self.run_topics.counting() as written:
            best, progress = -1, time.monotonic()
            while (now := written()) < count:
                if now > best:
                    best, progress = now, time.monotonic()
                self._check(f"stopped at {now} of {count} records", progress)
                time.sleep(POLL_SECONDS)
            usage = Usage(time.monotonic() - self._since.seconds, self.cpu_seconds() - self._since.cpu_seconds)
        if now != count:
            raise OnwardError(f"{self.name} wrote {now} records for {count} applications")
        return usage

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Suspend the processes for the length of the block; usage counts from its end."""
        for process in self.processes:
            process.suspend()
        try:
            yield
            self._since = Usage(time.monotonic(), self.cpu_seconds())
        finally:
            for process in self.processes:
                process.resume()

    def cpu_seconds(self) -> float:
        """Return the processor time so far."""
        return sum(process.cpu_seconds() for process in self.processes)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for process in self.processes:
                stack.enter_context(process)
            self._running = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._running.close()

    def _check(self, state: str, last_progress: float) -> None:
        for process in self.processes:
            if process.has_ended or time.monotonic() > last_progress + _STALL_SECONDS:
                raise OnwardError(f"{self.name} {state}: {process.last_line()}")


def _end(consumer: confluent_kafka.Consumer, place: confluent_kafka.TopicPartition) -> int:
    """Return the end offset; 0 while the leader of a new topic is not known to the broker yet."""
    try:
        end: int = consumer.get_watermark_offsets(place, timeout=_REPLY_SECONDS)[1]
    except confluent_kafka.KafkaException as error:
        if error.args[0].code() not in _NOT_YET:
            raise BrokerError(f"the end of {place.topic} is not known: {error.args[0].str()}") from error
        return 0
    return end
