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


def test_offsets_are_asked_for_again_while_a_partition_changes_its_leader(broker, monkeypatch) -> None:
    topic = broker.topic(1)
    broker.fill(topic, 5)
    errors = confluent_kafka.KafkaError
    moving = [errors.NOT_LEADER_FOR_PARTITION, errors.LEADER_NOT_AVAILABLE, errors.UNKNOWN_TOPIC_OR_PART]

    class Moving(confluent_kafka.Consumer):
        def get_watermark_offsets(self, *args, **options):
            if moving:
                raise confluent_kafka.KafkaException(errors(moving.pop()))
            return super().get_watermark_offsets(*args, **options)

    monkeypatch.setattr("onward.streams.kafka.admin.offsets.Consumer", Moving)
    [at] = partition_offsets(broker.options(), [topic])
    assert (at.begin, at.end, moving) == (0, 5, [])
