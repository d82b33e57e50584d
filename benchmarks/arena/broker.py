"""The broker that all contenders share: a real Kafka if one can start, else the embedded one in its own process."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import confluent_kafka

from onward.streams.errors import BrokerError
from onward.streams.kafka.admin.topics import create_topics
from onward.streams.kafka.options import KafkaOptions
from onward.streams.topics import TopicPlan
from onward.tests.support.kafka_cluster import KafkaCluster, unavailable

Kind = Literal["auto", "real", "embedded"]
"""``auto`` is a real Kafka if one can start, else the embedded broker."""
PARTITIONS = 4
"""Partitions of every topic. The embedded broker creates a topic with this number on the first request for it."""
_START_SECONDS = 20.0


@dataclass(frozen=True)
class Broker:
    """A running broker. ``fetch_wait_ms`` is how long a fetch without records may wait."""

    name: str
    bootstrap: str
    fetch_wait_ms: int
    embedded: bool

    def options(self) -> KafkaOptions:
        """Return options for a client without a group."""
        return KafkaOptions(brokers=tuple(self.bootstrap.split(",")), fetch_max_wait_ms=self.fetch_wait_ms)

    def create(self, plans: Iterable[TopicPlan]) -> None:
        """Create the topics that do not exist yet."""
        wanted = list(plans)
        if self.embedded:
            client = confluent_kafka.Producer(self.options().confluent())
            for topic in wanted:
                client.list_topics(topic.name, timeout=_START_SECONDS)
        else:
            create_topics(self.options(), wanted)


@contextmanager
def start_broker(folder: Path, kind: Kind = "auto") -> Iterator[Broker]:
    """Run a broker for the length of the block; raise ``BrokerError`` when it cannot start."""
    # The client logs every attempt that it repeats. Failures are raised as errors.
    logging.getLogger("librdkafka").setLevel(logging.CRITICAL)
    reason = unavailable()
    if kind == "real" and reason:
        raise BrokerError(f"a real Kafka is asked for: {reason}")
    if kind != "embedded" and reason is None:
        with KafkaCluster(folder / "kafka") as cluster:
            yield Broker("Apache Kafka", cluster.bootstrap, 100, embedded=False)
        return
    with _embedded() as bootstrap:
        # Fetches of the embedded broker do not return when a record arrives.
        yield Broker("embedded broker", bootstrap, 2, embedded=True)


@contextmanager
def _embedded() -> Iterator[str]:
    command = [sys.executable, "-P", "-m", "onward.benchmarks.arena.embedded_broker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None, "it has a pipe"
        try:
            address = process.stdout.readline().strip()
            if not address:
                raise BrokerError("the embedded broker did not start")
            yield address
        finally:
            process.kill()
