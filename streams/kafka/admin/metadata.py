"""Topics and partitions, as a broker reports them to a confluent-kafka client (blocking)."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, TopicMetadata  # type: ignore[attr-defined]  # not in its stubs' __all__

from ...errors import BrokerError
from ..options import KafkaOptions
from .rights import is_refusal, may_not


def describe_topics(
    client: Consumer | AdminClient, options: KafkaOptions, topic: str | None = None
) -> Mapping[str, TopicMetadata]:
    """All topics, or one, by name; raise ``BrokerError`` when no broker answers within ``connect_timeout_ms``.

    Asking for one topic with an ``AdminClient`` creates it where brokers create topics on request.
    """
    seconds = options.connect_timeout_ms / 1000
    try:
        described = client.list_topics(timeout=seconds) if topic is None else client.list_topics(topic, seconds)
    except KafkaException as error:
        raise unreachable(options, error.args[0].str()) from error
    return described.topics


def partitions_of(consumer: Consumer, options: KafkaOptions, topic: str) -> list[TopicPartition]:
    """The partitions of a topic, in order; raise ``BrokerError`` when it cannot be read or no broker answers."""
    described = describe_topics(consumer, options, topic)[topic]
    if described.error is not None and is_refusal(described.error):
        raise may_not(options, "READ", f"topic {topic}")
    if described.error is not None:
        raise BrokerError(
            f"topic {topic} cannot be read: {described.error.str()}; create it first (`onward topics create`)"
        )
    return [TopicPartition(topic, partition) for partition in sorted(described.partitions)]


def unreachable(options: KafkaOptions, reason: str) -> BrokerError:
    """The error to raise when no broker answers."""
    seconds = options.connect_timeout_ms / 1000
    return BrokerError(
        f"no Kafka broker answers at {options.bootstrap} within {seconds:g} s ({reason}): check the "
        f"addresses, the security protocol ({options.security_protocol}) and the login"
    )
