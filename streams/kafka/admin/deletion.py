"""Deletes the beginning of a partition (DeleteRecords)."""

from __future__ import annotations

import logging

import confluent_kafka
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from ...errors import BrokerError
from ...records import TopicPartition
from ..options import KafkaOptions
from .rights import is_refusal, may_not

client_log = logging.getLogger("librdkafka")


def delete_before(options: KafkaOptions, partition: TopicPartition, offset: int) -> None:
    """Delete the records before ``offset``; raise ``BrokerError`` when Kafka refuses. Blocks.

    The partition begins there as soon as this returns. A broker deletes the bytes with whole segments of its log.
    """
    admin = AdminClient(options.confluent(), logger=client_log)
    wanted = confluent_kafka.TopicPartition(*partition, offset)
    [answer] = admin.delete_records([wanted], request_timeout=options.request_timeout_ms / 1000).values()
    try:
        answer.result()
    except KafkaException as error:
        if is_refusal(error.args[0]):
            raise may_not(options, "DELETE", f"topic {partition.topic}") from error
        raise BrokerError(
            f"{partition.topic} partition {partition.partition} cannot be cut at offset {offset}: {error.args[0].str()}"
        ) from error
