import pytest

from onward.streams.kafka.admin.beginnings import Beginning, beginnings
from onward.streams.kafka.admin.deletion import delete_before
from onward.streams.kafka.admin.offsets import partition_offsets
from onward.streams.kafka.client import EventWriter
from onward.streams.records import TopicPartition

NOW_MS = 1_790_000_000_000


@pytest.mark.kafka
def test_a_cut_partition_begins_at_its_first_record_and_an_uncut_one_is_not_named(real):
    topic, options = real.topic(2), real.options()
    with EventWriter(options) as writer:
        for partition in (0, 1):
            for number in range(3):
                writer.send(topic, b"x", partition=partition, timestamp_ms=NOW_MS + number)
    assert beginnings(options, partition_offsets(options, [topic])) == []
    delete_before(options, TopicPartition(topic, 1), 2)
    [own] = beginnings(options, partition_offsets(options, [topic]))
    assert own == Beginning(topic, 1, 2, NOW_MS + 2)
    assert str(own) == f"{topic} partition 1 begins at offset 2, 2026-09-21T14:13:20.002Z: what came before was deleted"
    delete_before(options, TopicPartition(topic, 1), 3)
    assert beginnings(options, partition_offsets(options, [topic])) == [Beginning(topic, 1, 3, None)]


def test_nothing_is_asked_where_nothing_is_cut(broker):
    topic = broker.topic(1)
    offsets = partition_offsets(broker.options(), [topic])
    nowhere = broker.options(brokers=("localhost:1",), connect_timeout_ms=1000)
    assert beginnings(nowhere, offsets) == []
