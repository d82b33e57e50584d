"""The offsets of topics, and of a group that reads them (blocking; joins no group)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ..options import KafkaOptions
from .metadata import partitions_of, unreachable
from .rights import is_hidden_group, is_refusal, may_not

_MOVING = {
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
}
"""Errors of a described partition while a broker becomes its leader, or has not heard of it yet. The client asks again
who leads it."""
_PAUSE_SECONDS = 0.1


class PartitionOffsets(NamedTuple):
    """One partition: its first offset, its end offset, and the group's committed offset.

    That is None before a commit, and where it was not asked for.
    """

    topic: str
    partition: int
    begin: int
    end: int
    committed: int | None

    @property
    def lag(self) -> int:
        """Records the group has not read."""
        return self.end - max(self.begin, self.committed or 0)


def partition_offsets(
    options: KafkaOptions, topics: Iterable[str], *, of_group: bool = False
) -> list[PartitionOffsets]:
    """The offsets of all partitions of the topics, in order; those of the group too where they are asked for.

    Raise ``BrokerError`` when Kafka does not answer or a topic is missing.
    """
    seconds = options.connect_timeout_ms / 1000
    with _consumer(options) as consumer:
        partitions = [partition for topic in topics for partition in partitions_of(consumer, options, topic)]
        offsets = []
        for partition in consumer.committed(partitions, timeout=seconds) if of_group else partitions:
            begin, end = _range(consumer, partition, seconds)
            # A negative offset is librdkafka's code for "nothing committed".
            committed = partition.offset if partition.offset >= 0 else None
            offsets.append(PartitionOffsets(partition.topic, partition.partition, begin, end, committed))
        return offsets


def _range(consumer: Consumer, partition: TopicPartition, seconds: float) -> tuple[int, int]:
    """The first and the end offset of a partition, asked for again for ``seconds`` while its leader changes."""
    until = time.monotonic() + seconds
    while True:
        try:
            return consumer.get_watermark_offsets(partition, timeout=seconds)
        except KafkaException as error:
            if error.args[0].code() not in _MOVING or time.monotonic() > until:
                raise
        time.sleep(_PAUSE_SECONDS)


@contextmanager
def _consumer(options: KafkaOptions) -> Iterator[Consumer]:
    # Errors are raised by the calls; librdkafka's own log lines would only repeat them.
    quiet = {"log_level": 0, "error_cb": lambda _: None, "enable.auto.commit": False}
    try:
        consumer = Consumer({**options.confluent(), **quiet, "group.id": options.group})
        try:
            yield consumer
        finally:
            consumer.close()
    except KafkaException as error:
        if is_refusal(error.args[0]):
            raise may_not(options, "DESCRIBE", "a topic") from error
        # Who may not know of the group waits for its coordinator in vain.
        if is_hidden_group(options):
            raise may_not(options, "DESCRIBE", f"group {options.group}") from error
        raise unreachable(options, error.args[0].str()) from error
