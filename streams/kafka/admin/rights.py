"""The rights of a connection's user on a Kafka with an authorizer, asked before the work begins.

A right that is missing would show in the middle of the work, as another error at each place. Brokers that do not tell,
such as the embedded one, are taken to allow everything.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient  # type: ignore[attr-defined]  # not in its stubs' __all__

from ...errors import BrokerError
from ...topics import Topics
from ..options import KafkaOptions

log = logging.getLogger(__name__)
client_log = logging.getLogger("librdkafka")

Granted = Mapping[str, Collection[str] | None]
"""The operations that are allowed, by topic or group; None where the broker does not tell."""

_REFUSED = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        # Who may write no topic at all gets no number as a producer.
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)


def worker_rights(topics: Topics, *, cuts_journal: bool = False) -> dict[str, tuple[str, ...]]:
    """The operations that a worker needs, by topic. It reads the tail of what it has written."""
    owned = (topics.journal, *topics.outputs)
    rights: dict[str, tuple[str, ...]] = dict.fromkeys(topics.inputs, ("READ",)) | dict.fromkeys(
        owned, ("READ", "WRITE")
    )
    if cuts_journal:
        rights[topics.journal] += ("DELETE",)
    return rights


async def check_rights(options: KafkaOptions, topics: Mapping[str, Iterable[str]], group: str) -> None:
    """Return when the user may do this with these topics, and READ with the group; raise ``BrokerError`` otherwise.

    A topic that does not exist is not looked at.
    """
    granted, of_group = await asyncio.to_thread(_granted, options, list(topics), group)
    refused = [*_refusals("topic", topics, granted), *_refusals("group", {group: ("READ",)}, of_group)]
    if refused:
        raise BrokerError(
            f"this user may not {'; '.join(refused)} on {options.bootstrap}: allow it in Kafka's access control lists"
        )


def hidden_topics(admin: AdminClient, topics: Sequence[str], seconds: float) -> set[str]:
    """The topics of which the user may not know whether they exist."""
    if not topics:
        return set()
    described = admin.describe_topics(TopicCollection(list(topics)), request_timeout=seconds)
    return {name for name, future in described.items() if _operations(future) == ()}


def is_hidden_group(options: KafkaOptions) -> bool:
    """Whether the user may not know of the group."""
    admin = AdminClient(options.confluent(), logger=client_log)
    described = admin.describe_consumer_groups([options.group], request_timeout=options.connect_timeout_ms / 1000)
    return any(_operations(answer) == () for answer in described.values())


def may_not(options: KafkaOptions, operation: str, resource: str) -> BrokerError:
    """The error for a right that a broker has refused."""
    return BrokerError(
        f"this user may not {operation} {resource} on {options.bootstrap}: allow it in Kafka's access control lists"
    )


def is_refusal(error: KafkaError) -> bool:
    """Whether a broker refuses a right."""
    return error.code() in _REFUSED


def _refusals(kind: str, needed: Mapping[str, Iterable[str]], granted: Granted) -> list[str]:
    """The rights that are needed and not granted, one phrase an operation: ``WRITE topics journal, recourse``."""
    missing: defaultdict[str, list[str]] = defaultdict(list)
    for name, operations in needed.items():
        allowed = granted.get(name)
        for operation in operations:
            if allowed is not None and operation not in allowed:
                missing[operation].append(name)
    return [
        f"{operation} {kind}{'s' if len(names) > 1 else ''} {', '.join(names)}" for operation, names in missing.items()
    ]


def _granted(options: KafkaOptions, topics: list[str], group: str) -> tuple[Granted, Granted]:
    admin = AdminClient(options.confluent(), logger=client_log)
    seconds = options.connect_timeout_ms / 1000
    described = admin.describe_topics(
        TopicCollection(topics), include_authorized_operations=True, request_timeout=seconds
    )
    groups = admin.describe_consumer_groups([group], include_authorized_operations=True, request_timeout=seconds)
    return _by_name(described), _by_name(groups)


def _by_name(answers: Mapping[str, Future[Any]]) -> Granted:
    return {name: _operations(answer) for name, answer in answers.items()}


def _operations(future: Future[Any]) -> Collection[str] | None:
    try:
        operations: Iterable[AclOperation] | None = future.result().authorized_operations
    except KafkaException as error:
        if is_refusal(error.args[0]):
            return ()
        log.debug("the rights of this user are not known: %s", error.args[0].str())
        return None
    return None if operations is None else [operation.name for operation in operations]
