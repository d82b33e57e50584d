import confluent_kafka

from onward.streams.kafka.admin.offsets import partition_offsets
from onward.streams.kafka.embedded import EmbeddedBroker


def test_ends_and_what_a_group_has_read() -> None:
    with EmbeddedBroker({"journal": 2}) as broker:
        options = broker.options(group="readers")
        producer = confluent_kafka.Producer(options.confluent())
        for _ in range(5):
            producer.produce("journal", b"x", partition=1)
        producer.flush(10)
        consumer = confluent_kafka.Consumer({**options.confluent(), "group.id": "readers"})
        consumer.commit(offsets=[confluent_kafka.TopicPartition("journal", 1, 3)], asynchronous=False)
        consumer.close()
        unread, read = partition_offsets(options, ["journal"])
    assert (unread.begin, unread.end, unread.committed, unread.lag) == (0, 0, None, 0)
    assert (read.begin, read.end, read.committed, read.lag) == (0, 5, 3, 2)
