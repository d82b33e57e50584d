from __future__ import annotations

import pytest

from onward.streams.errors import BrokerError
from onward.streams.ingest.partitioning import partition_of
from onward.streams.kafka.client import EventReader, EventWriter
from onward.tests.support.kafka_handlers import read_all


def test_written_records_are_read(broker):
    topic = broker.topic(3)
    with EventWriter(broker.options()) as writer:
        for number in range(100):
            writer.send(topic, b"%d" % number, key=b"k%d" % (number % 7), headers=[("ce_id", b"%d" % number)])
    records = read_all(broker.options(), topic)
    assert sorted(int(record.value) for record in records) == list(range(100))
    assert all(list(record.headers) == [("ce_id", record.value)] for record in records)
    assert all(record.partition == partition_of(record.key, 3) for record in records)


def test_a_reader_at_the_end_sees_only_what_comes_after(broker):
    topic = broker.topic()
    broker.fill(topic, 5)
    with EventReader(broker.options(), [topic], start="end") as reader:
        broker.fill(topic, 2, start=5)
        records = []
        while len(records) < 2:
            records += reader.poll(5.0)
        assert [record.value for record in records] == [b"5", b"6"]


def test_poll_returns_nothing_after_its_timeout(broker):
    topic = broker.topic()
    with EventReader(broker.options(), [topic], start="end") as reader:
        while not reader.caught_up:
            reader.poll(1.0)
        assert reader.poll(0.01) == []


def test_a_record_too_large_is_refused(broker):
    topic = broker.topic()
    with EventWriter(broker.options()) as writer, pytest.raises(BrokerError, match=r"2000000 bytes for .* are refused"):
        writer.send(topic, bytes(2_000_000))


def test_a_writer_without_a_broker_fails_within_the_delivery_timeout(unreachable):
    with pytest.raises(BrokerError, match="not delivered"), EventWriter(unreachable) as writer:
        writer.send("t", b"1")


def test_a_reader_without_a_broker_fails_within_the_connect_timeout(unreachable):
    with pytest.raises(BrokerError, match=f"no Kafka broker answers at {unreachable.bootstrap} within 0.6 s"):
        EventReader(unreachable, ["t"])


@pytest.mark.kafka
def test_a_topic_that_does_not_exist_is_named(real):
    with pytest.raises(BrokerError, match="topic nowhere cannot be read"):
        EventReader(real.options(), ["nowhere"])
