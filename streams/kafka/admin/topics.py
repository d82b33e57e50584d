"""Creates the topics of an installation and checks that they are as planned.

    create_topics(options, plan(Topics(), partitions=4, replication=3))
    for line in check_topics(options, plan(Topics(), partitions=4, replication=3)): print(line)

Calls block. The embedded broker knows no admin calls: its topics come with ``EmbeddedBroker(...)``, or with 4
partitions when they are first asked for, and its settings are not checked.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from ...errors import BrokerError
from ...topics import TopicPlan
from ..options import KafkaOptions
from .preflight import unreachable

log = logging.getLogger("librdkafka")

_SHOW_SECONDS = 0.05


def create_topics(options: KafkaOptions, plans: Iterable[TopicPlan]) -> list[str]:
    """Create the topics that do not exist; return their names. Topics that exist are left as they are.

    Raise ``BrokerError`` when Kafka is not reachable or refuses.
    """
    admin, seconds = _admin(options)
    existing = _topics(admin, options)
    wanted = [plan for plan in plans if plan.name not in existing]
    if not wanted:
        return []
    futures = admin.create_topics(
        [
            NewTopic(plan.name, plan.partitions, plan.replication, config=_created_with(plan))
            for plan in wanted
        ],
        request_timeout=seconds,
    )  # fmt: skip
    created = [plan.name for plan in wanted if _created(admin, options, plan, futures[plan.name])]
    _wait_for(admin, options, created)
    return created


def check_topics(options: KafkaOptions, plans: Iterable[TopicPlan]) -> list[str]:
    """One line for every mismatch: topic, what is, what should be.

    Raise ``BrokerError`` when Kafka is not reachable.
    """
    admin, seconds = _admin(options)
    existing = _topics(admin, options)
    lines = []
    for plan in plans:
        found = existing.get(plan.name)
        if found is None:
            lines.append(f"{plan.name}: does not exist, should have {plan.partitions} partitions")
            continue
        lines += _shape(plan, found)
        lines += _settings(plan, _config(admin, plan.name, seconds))
    return lines


def _admin(options: KafkaOptions) -> tuple[AdminClient, float]:
    return AdminClient(options.confluent(), logger=log), options.connect_timeout_ms / 1000


def _topics(admin: AdminClient, options: KafkaOptions) -> Mapping[str, Any]:
    try:
        return admin.list_topics(timeout=options.connect_timeout_ms / 1000).topics
    except KafkaException as error:
        raise unreachable(options, error.args[0].str()) from error


def _created(admin: AdminClient, options: KafkaOptions, plan: TopicPlan, future: Any) -> bool:
    try:
        future.result()
    except KafkaException as error:
        code = error.args[0].code()
        if code == KafkaError.TOPIC_ALREADY_EXISTS:
            return False
        if code != KafkaError._UNSUPPORTED_FEATURE:
            raise BrokerError(f"topic {plan.name} cannot be created: {error.args[0].str()}") from error
        _first_asked_for(admin, options, plan)
    return True


def _wait_for(admin: AdminClient, options: KafkaOptions, topics: Iterable[str]) -> None:
    """Brokers learn of new topics a moment after the controller has created them."""
    deadline = time.monotonic() + options.connect_timeout_ms / 1000
    missing = set(topics)
    while missing := missing - _topics(admin, options).keys():
        if time.monotonic() > deadline:
            raise BrokerError(f"topics were created but do not show up: {', '.join(sorted(missing))}")
        time.sleep(_SHOW_SECONDS)


def _first_asked_for(admin: AdminClient, options: KafkaOptions, plan: TopicPlan) -> None:
    try:
        found = admin.list_topics(plan.name, timeout=options.connect_timeout_ms / 1000).topics[plan.name]
    except KafkaException as error:
        raise BrokerError(f"topic {plan.name} cannot be created: {error.args[0].str()}") from error
    if len(found.partitions) != plan.partitions:
        raise BrokerError(
            f"topic {plan.name} has {len(found.partitions)} partitions on a broker without admin calls, should have "
            f"{plan.partitions}: start the embedded broker with this topic"
        )


def _shape(plan: TopicPlan, found: Any) -> Iterator[str]:
    if len(found.partitions) != plan.partitions:
        yield f"{plan.name}: has {len(found.partitions)} partitions, should have {plan.partitions}"
    replicas = sorted({len(partition.replicas) for partition in found.partitions.values()})
    if replicas != [plan.replication]:
        shown = " or ".join(map(str, replicas))
        yield f"{plan.name}: has {shown} replicas of each partition, should have {plan.replication}"


def _config(admin: AdminClient, topic: str, seconds: float) -> Mapping[str, str] | None:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    try:
        entries = admin.describe_configs([resource], request_timeout=seconds)[resource].result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError._UNSUPPORTED_FEATURE:
            return None
        raise BrokerError(f"the settings of topic {topic} cannot be read: {error.args[0].str()}") from error
    return {name: entry.value for name, entry in entries.items()}


def _created_with(plan: TopicPlan) -> dict[str, str]:
    return {**plan.config, **{name: str(least) for name, least in plan.least.items()}}


def _settings(plan: TopicPlan, config: Mapping[str, str] | None) -> Iterator[str]:
    if config is None:
        return
    for name, value in plan.config.items():
        if config.get(name) != value:
            yield f"{plan.name}: {name} is {config.get(name)}, should be {value}"
    for name, least in plan.least.items():
        if int(config.get(name, 0)) < least:
            yield f"{plan.name}: {name} is {config.get(name)}, should be {least} or more"
