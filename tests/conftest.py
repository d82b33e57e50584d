"""A broker for every test that wants one: embedded, and with ``-m kafka`` a real Kafka.

That is the one at ONWARD_KAFKA_BOOTSTRAP ("host:port,..."), else one that is started from KAFKA_HOME.
"""

from __future__ import annotations

import gc
import logging
import os
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from onward.benchmarks.improvement import choices  # noqa: F401 -- registered for all tests, in whatever order they run
from onward.streams.kafka.admin.topics import create_topics
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.kafka.options import KafkaOptions
from onward.streams.topics import TopicPlan
from onward.tests.support.compiled_once import compile_once
from onward.tests.support.connections import closing_connections, leave_the_disk_alone, track_connections
from onward.tests.support.kafka_cluster import KafkaCluster, unavailable

# How long an example takes says more about the machine than about the code. The examples are the same in every run.
settings.register_profile("untimed", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

track_connections()
leave_the_disk_alone()
compile_once()

BOOTSTRAP = os.environ.get("ONWARD_KAFKA_BOOTSTRAP")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with those that run commands of the pages: they take longest, and nothing should wait for them alone."""
    items.sort(key=lambda item: item.path.parent != Path(__file__).parent)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Who asks for the tests on a real Kafka must not take it for a success that all of them were skipped."""
    asked = "kafka" in session.config.option.markexpr
    reason = None if BOOTSTRAP else unavailable()
    if asked and reason and any(item.get_closest_marker("kafka") for item in session.items):
        ways = "or name a broker in ONWARD_KAFKA_BOOTSTRAP, or let `make kafka-test` start one where Docker runs"
        raise pytest.UsageError(f"tests on a real Kafka are asked for, and there is {reason}, {ways}")
    # Modules and tests stay to the end: no collection of garbage needs to look at them again.
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Train on one thread: the networks are small, so more threads only wait for one another."""
    if item.get_closest_marker("rl"):
        import torch

        torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A worker that a test runs sets the logging of the process, to a stream that is closed after the test."""
    root, ours = logging.getLogger(), logging.getLogger("onward")
    before = (root.level, list(root.handlers), ours.level)
    yield
    logging.captureWarnings(False)
    root.setLevel(before[0])
    root.handlers[:] = before[1]
    ours.setLevel(before[2])


@pytest.fixture(autouse=True)
def no_ledger_left_open() -> Iterator[None]:
    """Every test closes the ledgers that it opens; one whose workers crash takes the fixture ``crashes``."""
    with closing_connections() as left:
        yield
    assert not left, f"left open: {', '.join(left)}: close it, or let the fixture `crashes` do so"


@dataclass(frozen=True)
class RunningKafka:
    """A Kafka that somebody else has started."""

    bootstrap: str


class Broker:
    """A broker that several tests share: every test has its own topics and group."""

    def __init__(self, bootstrap: str, embedded: EmbeddedBroker | None = None) -> None:
        self._bootstrap = bootstrap
        self._embedded = embedded
        self.is_real = embedded is None
        self.group = uuid.uuid4().hex

    def options(self, **changes: Any) -> KafkaOptions:
        quick: dict[str, Any] = {"group": self.group, "commit_interval_ms": 100}
        if self._embedded:
            shorter = {"session_timeout_ms": 5000, "heartbeat_ms": 200}
            return self._embedded.options(**(quick | shorter | changes))
        return KafkaOptions(**({"brokers": tuple(self._bootstrap.split(","))} | quick | changes))

    def topic(self, partitions: int = 1) -> str:
        name = f"t-{uuid.uuid4().hex}"
        if self._embedded:
            self._embedded.create_topic(name, partitions)
        else:
            create_topics(self.options(), [TopicPlan(name, partitions, 1, {})])
        return name

    def create(self, plans: Iterable[TopicPlan]) -> None:
        for topic in plans:
            if self._embedded:
                self._embedded.create_topic(topic.name, topic.partitions)
            else:
                create_topics(self.options(), [topic])

    def fill(self, topic: str, count: int, *, start: int = 0, partition: int = 0) -> list[bytes]:
        values = [b"%d" % number for number in range(start, start + count)]
        with EventWriter(self.options()) as writer:
            for value in values:
                writer.send(topic, value, partition=partition)
        return values


@pytest.fixture(scope="session")
def embedded() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster | RunningKafka]:
    if BOOTSTRAP:
        yield RunningKafka(BOOTSTRAP)
        return
    if reason := unavailable():
        pytest.skip(reason)
    with KafkaCluster(tmp_path_factory.mktemp("kafka")) as cluster:
        yield cluster


@pytest.fixture
def own_brokers() -> None:
    """For a test that starts brokers of its own."""
    if reason := unavailable():
        pytest.skip(f"it starts brokers of its own, and there is {reason}")


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.kafka)])
def broker(request: pytest.FixtureRequest) -> Broker:
    if request.param == "real":
        return Broker(request.getfixturevalue("cluster").bootstrap)
    embedded = request.getfixturevalue("embedded")
    return Broker(embedded.bootstrap, embedded)


@pytest.fixture
def real(cluster: KafkaCluster | RunningKafka) -> Broker:
    return Broker(cluster.bootstrap)
