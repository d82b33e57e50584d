"""How far topics reach, and how far a group has read them (blocking; joins nothing)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition

from ...errors import BrokerError
from ..options import KafkaOptions
from .preflight import unreachable

_NOTHING_COMMITTED = 0


class PartitionOffsets(NamedTuple):
    """One partition: offsets of its first record and of the next one to come, and the group's next one to read."""

    topic: str
    partition: int
    begin: int
    end: int
    committed: int | None

    @property
    def lag(self) -> int:
        """Records the group has not read."""
        return self.end - max(self.begin, self.committed or 0)


def extents(options: KafkaOptions, topics: Iterable[str]) -> list[PartitionOffsets]:
    """The partitions of the topics, in order; ``BrokerError`` when Kafka does not answer or a topic is missing."""
    seconds = options.connect_timeout_ms / 1000
    with _consumer(options) as consumer:
        partitions = [
            TopicPartition(topic, number) for topic in topics for number in _partitions(consumer, topic, seconds)
        ]
        committed = consumer.committed(partitions, timeout=seconds)
        result = []
        for at in committed:
            begin, end = consumer.get_watermark_offsets(at, timeout=seconds)
            known = at.offset if at.offset >= _NOTHING_COMMITTED else None
            result.append(PartitionOffsets(at.topic, at.partition, begin, end, known))
        return result


@contextmanager
def _consumer(options: KafkaOptions) -> Iterator[Consumer]:
    # Errors are raised by the calls below; librdkafka's own lines would only repeat them.
    quiet = {"log_level": 0, "error_cb": lambda _: None, "enable.auto.commit": False}
    try:
        consumer = Consumer({**options.confluent(), **quiet, "group.id": options.group})
        try:
            yield consumer
        finally:
            consumer.close()
    except KafkaException as error:
        raise unreachable(options, error.args[0].str()) from error


def _partitions(consumer: Consumer, topic: str, seconds: float) -> list[int]:
    described = consumer.list_topics(topic, timeout=seconds).topics[topic]
    if described.error is not None:
        raise BrokerError(f"topic {topic} does not exist: run `onward topics create` ({described.error.str()})")
    return sorted(described.partitions)
