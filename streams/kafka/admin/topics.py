"""Creates the topics of an installation and checks them against their plans.

    create_topics(options, plan(Topics(), partitions=4, replication=3))
    for line in check_topics(options, plan(Topics(), partitions=4, replication=3)): print(line)

Calls block. The embedded broker knows no admin calls. Its topics are those of ``EmbeddedBroker(...)``; any other gets 4
partitions when a client first asks for it. Their settings are not checked.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
    TopicMetadata,
)

from ...errors import BrokerError
from ...topics import TopicPlan
from ..options import KafkaOptions
from .metadata import describe_topics
from .rights import hidden_topics, is_refusal, may_not

log = logging.getLogger("librdkafka")

_RETRY_SECONDS = 0.05


def create_topics(options: KafkaOptions, plans: Iterable[TopicPlan]) -> list[str]:
    """Create the topics that do not exist; return their names. Topics that exist are left as they are.

    Raise ``BrokerError`` when Kafka is not reachable or refuses.
    """
    admin, seconds = _admin(options)
    existing = describe_topics(admin, options)
    missing = [plan for plan in plans if plan.name not in existing]
    if not missing:
        return []
    futures = admin.create_topics(
        [
            NewTopic(plan.name, plan.partitions, plan.replication, config=_initial_settings(plan))
            for plan in missing
        ],
        request_timeout=seconds,
    )  # fmt: skip
    refused = [plan.name for plan in missing if _is_refused(futures[plan.name])]
    if refused:
        raise may_not(options, "CREATE", _named(refused))
    created = [plan.name for plan in missing if _is_created(admin, options, plan, futures[plan.name])]
    _wait_until_listed(admin, options, created)
    return created


def check_topics(options: KafkaOptions, plans: Iterable[TopicPlan]) -> list[str]:
    """One line for every mismatch: the topic, its value, the planned value.

    Raise ``BrokerError`` when Kafka is not reachable, or does not let this user look at a topic or its settings.
    """
    admin, seconds = _admin(options)
    existing = describe_topics(admin, options)
    plans, lines = list(plans), []
    hidden = hidden_topics(admin, [plan.name for plan in plans if plan.name not in existing], seconds)
    if hidden:
        raise may_not(options, "DESCRIBE", _named(sorted(hidden)))
    settings = _settings(admin, options, [plan.name for plan in plans if plan.name in existing])
    for plan in plans:
        topic = existing.get(plan.name)
        if topic is None:
            lines.append(f"{plan.name}: does not exist, should have {plan.partitions} partitions")
        else:
            lines += _layout_mismatches(plan, topic)
            lines += _setting_mismatches(plan, settings.get(plan.name))
    return lines


def _admin(options: KafkaOptions) -> tuple[AdminClient, float]:
    return AdminClient(options.confluent(), logger=log), options.connect_timeout_ms / 1000


def _named(topics: Sequence[str]) -> str:
    return f"topic{'s' if len(topics) > 1 else ''} {', '.join(topics)}"


def _is_refused(future: Future[Any]) -> bool:
    """Whether a broker refuses the right to what was asked for."""
    error = future.exception()
    return isinstance(error, KafkaException) and is_refusal(error.args[0])


def _is_created(admin: AdminClient, options: KafkaOptions, plan: TopicPlan, future: Any) -> bool:
    try:
        future.result()
    except KafkaException as error:
        code = error.args[0].code()
        if code == KafkaError.TOPIC_ALREADY_EXISTS:
            return False
        if code != KafkaError._UNSUPPORTED_FEATURE:
            raise BrokerError(f"topic {plan.name} cannot be created: {error.args[0].str()}") from error
        _create_by_request(admin, options, plan)
    return True


def _wait_until_listed(admin: AdminClient, options: KafkaOptions, topics: Iterable[str]) -> None:
    """Wait for the brokers, which learn of new topics a moment after the controller has created them."""
    deadline = time.monotonic() + options.connect_timeout_ms / 1000
    missing = set(topics)
    while missing := missing - describe_topics(admin, options).keys():
        if time.monotonic() > deadline:
            raise BrokerError(f"topics were created but do not show up: {', '.join(sorted(missing))}")
        time.sleep(_RETRY_SECONDS)


def _create_by_request(admin: AdminClient, options: KafkaOptions, plan: TopicPlan) -> None:
    """The embedded broker creates a topic when a client asks for it."""
    topic = describe_topics(admin, options, plan.name)[plan.name]
    if len(topic.partitions) != plan.partitions:
        raise BrokerError(
            f"topic {plan.name} has {len(topic.partitions)} partitions on a broker without admin calls, should have "
            f"{plan.partitions}: start the embedded broker with this topic"
        )


def _layout_mismatches(plan: TopicPlan, topic: TopicMetadata) -> Iterator[str]:
    if len(topic.partitions) != plan.partitions:
        yield f"{plan.name}: has {len(topic.partitions)} partitions, should have {plan.partitions}"
    replicas = sorted({len(partition.replicas) for partition in topic.partitions.values()})
    if replicas != [plan.replication]:
        shown = " or ".join(map(str, replicas))
        yield f"{plan.name}: has {shown} replicas of each partition, should have {plan.replication}"


def _settings(admin: AdminClient, options: KafkaOptions, topics: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
    """The settings of topics; of none where the broker does not tell."""
    if not topics:
        return {}
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    answers = admin.describe_configs(resources, request_timeout=options.connect_timeout_ms / 1000)
    futures = {resource.name: future for resource, future in answers.items()}
    refused = [topic for topic in topics if _is_refused(futures[topic])]
    if refused:
        raise may_not(options, "DESCRIBE_CONFIGS", _named(refused))
    settings = {}
    for topic in topics:
        try:
            entries = futures[topic].result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError._UNSUPPORTED_FEATURE:
                return {}
            raise BrokerError(f"the settings of topic {topic} cannot be read: {error.args[0].str()}") from error
        settings[topic] = {name: entry.value for name, entry in entries.items()}
    return settings


def _initial_settings(plan: TopicPlan) -> dict[str, str]:
    return {**plan.config, **{name: str(least) for name, least in plan.least.items()}}


def _setting_mismatches(plan: TopicPlan, settings: Mapping[str, str] | None) -> Iterator[str]:
    if settings is None:
        return
    for name, value in plan.config.items():
        if settings.get(name) != value:
            yield f"{plan.name}: {name} is {settings.get(name)}, should be {value}"
    for name, least in plan.least.items():
        if int(settings.get(name, 0)) < least:
            yield f"{plan.name}: {name} is {settings.get(name)}, should be {least} or more"
