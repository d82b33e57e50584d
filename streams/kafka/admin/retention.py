"""Whether Kafka would delete records of the journal, from which all state is rebuilt.

It is asked by aiokafka, with the connection settings that the worker itself uses.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, for_code

from ..options import KafkaOptions
from ..patience import Patience
from .preflight import connected

log = logging.getLogger(__name__)

_UNLIMITED = "-1"
_LIMITS = ("retention.ms", "retention.bytes")


async def warn_of_deletion(options: KafkaOptions, topic: str) -> None:
    """Log a warning when the settings of the journal's topic let records go. Where they cannot be read, log that."""
    try:
        async with Patience(options.connect_timeout_ms / 1000):
            settings = await _settings(options, topic)
    except (KafkaError, OSError, TimeoutError) as error:
        log.info("the settings of the journal cannot be read (%s): its retention is not checked", type(error).__name__)
        return
    for warning in deletions(topic, settings):
        log.warning(warning, extra={"topic": topic})


def deletions(topic: str, settings: Mapping[str, str | None]) -> Iterator[str]:
    """One line for every setting of the journal's topic that lets records go, and what to do."""
    policies = (settings.get("cleanup.policy") or "").split(",")
    if "compact" in policies:
        yield (
            f"topic {topic} is compacted (cleanup.policy={','.join(policies)}), but the journal must keep all: "
            "set cleanup.policy=delete, retention.ms=-1 and retention.bytes=-1"
        )
    for name in _LIMITS if "delete" in policies else ():
        value = settings.get(name) or _UNLIMITED
        if value != _UNLIMITED:
            yield (
                f"topic {topic} has {name}={value}, so Kafka will delete records of the journal, from which state is "
                f"rebuilt and recourses are audited: set {name}=-1 (`onward topics check` compares every setting)"
            )


async def _settings(options: KafkaOptions, topic: str) -> dict[str, str | None]:
    async with connected(options) as admin:
        [answer] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    [(code, _, _, _, entries)] = answer.resources
    if code:
        raise for_code(code)()
    return {entry[0]: entry[1] for entry in entries}
