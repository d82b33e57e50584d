import confluent_kafka

from onward.streams.kafka.admin.offsets import partition_offsets


def test_offsets_are_those_of_the_partition_and_of_the_group(broker) -> None:
    topic, options = broker.topic(2), broker.options()
    broker.fill(topic, 5, partition=1)
    consumer = confluent_kafka.Consumer({**options.confluent(), "group.id": options.group})
    consumer.commit(offsets=[confluent_kafka.TopicPartition(topic, 1, 3)], asynchronous=False)
    consumer.close()
    unread, read = partition_offsets(options, [topic], of_group=True)
    assert (unread.begin, unread.end, unread.committed, unread.lag) == (0, 0, None, 0)
    assert (read.begin, read.end, read.committed, read.lag) == (0, 5, 3, 2)
