"""The Kafka that all contenders share, in a process of its own: a real one where it can be started, else the embedded."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from onward.streams.errors import BrokerError
from onward.streams.kafka.client import EventReader
from onward.streams.kafka.options import KafkaOptions
from onward.streams.kafka.topics import create_topics
from onward.streams.topics import TopicPlan

from .kafka_cluster import KafkaCluster, unavailable

PARTITIONS = 4
"""Of every topic; the embedded broker makes a topic with so many when it is first asked for one."""
_START_SECONDS = 20.0


@dataclass(frozen=True)
class Broker:
    """Where it is, what it is, and how long a fetch that finds nothing may wait."""

    name: str
    bootstrap: str
    fetch_wait_ms: int
    embedded: bool

    def options(self) -> KafkaOptions:
        """Options for a client that belongs to no group."""
        return KafkaOptions(brokers=tuple(self.bootstrap.split(",")), fetch_max_wait_ms=self.fetch_wait_ms)

    def create(self, plans: Iterable[TopicPlan]) -> None:
        """Create topics that do not exist yet."""
        wanted = list(plans)
        if self.embedded:
            EventReader(self.options(), [topic.name for topic in wanted]).close()
        else:
            create_topics(self.options(), wanted)


@contextmanager
def a_broker(folder: Path, *, real: bool | None = None) -> Iterator[Broker]:
    """A broker while the block lasts. ``real`` insists on a kind; None takes a real one where there is one."""
    reason = unavailable()
    if real and reason:
        raise BrokerError(f"a real Kafka is asked for: {reason}")
    if reason is None and real is not False:
        with KafkaCluster(folder / "kafka") as cluster:
            yield Broker("Apache Kafka", cluster.bootstrap, 100, embedded=False)
        return
    with _embedded(folder) as bootstrap:
        # Fetches of the embedded broker do not end when a record comes.
        yield Broker("embedded broker", bootstrap, 2, embedded=True)


@contextmanager
def _embedded(folder: Path) -> Iterator[str]:
    port_file = folder / "embedded-broker"
    command = [sys.executable, "-m", "onward.streams.kafka.embedded", "--port-file", str(port_file)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not port_file.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise BrokerError("the embedded broker did not start")
            time.sleep(0.02)
        yield port_file.read_text()
    finally:
        process.kill()
        process.communicate()
