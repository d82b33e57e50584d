from __future__ import annotations

import pytest

from onward.streams.errors import BrokerError
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.tests.support.kafka_handlers import read_all


def test_topics_have_the_partitions_asked_for():
    with EmbeddedBroker({"journal": 7}) as broker, EventWriter(broker.options()) as writer:
        writer.send("journal", b"1", partition=6)
        writer.flush()
        with pytest.raises(BrokerError, match=r"cannot create topic journal with 7 partitions: .*already exists"):
            broker.create_topic("journal", 7)


def test_a_partition_keeps_about_five_mebibytes():
    with EmbeddedBroker({"t": 1}) as broker:
        with EventWriter(broker.options()) as writer:
            for _ in range(60):
                writer.send("t", bytes(100_000))
                writer.flush()
        kept = read_all(broker.options(), "t")
    assert 50 <= len(kept) <= 54
    assert kept[-1].offset == 59
