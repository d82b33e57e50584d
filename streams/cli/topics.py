"""``onward topics``: creates the topics of an installation, or checks them."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Literal, TypeVar

from pydantic import Field

from ..errors import BrokerError
from ..journal.width import written_width
from ..kafka import connection
from ..kafka.admin.topics import check_topics, create_topics
from ..kafka.options import KafkaOptions
from ..records import Record, TopicPartition
from ..settings import BrokerSettings
from ..topics import Topics, plan
from .display.words import counted
from .flags.actions import run_action
from .flags.parsing import parse_settings

T = TypeVar("T")

PROPAGATION_SECONDS, RETRY_SECONDS = 10.0, 0.25
"""A new topic becomes known to one broker after the other."""

USAGE = """usage: onward topics {create,check} [FLAGS]

  create  Create the topics that do not exist yet, then check all.
  check   Say what is missing or different from the plan; exit code 3 when something is.

`onward topics create --help` explains the flags."""


class TopicSettings(BrokerSettings):
    """Settings of ``onward topics``."""

    partitions: int = Field(6, ge=1, le=10_000, description="Partitions of every topic; programs are spread over them.")
    replication: int = Field(3, ge=1, le=100, description="Copies of every partition; 1 on a single broker.")


def run(args: Sequence[str]) -> int:
    """Run the action that the first argument names."""
    return run_action("topics", USAGE, {"create": partial(_run, "create"), "check": partial(_run, "check")}, args)


def _run(action: Literal["create", "check"], args: Sequence[str]) -> int:
    """Create what is missing where that is asked for, then check all."""
    settings = parse_settings(TopicSettings, f"onward topics {action}", f"{action.capitalize()} the topics.", args)
    options = connection.connection(settings)
    plans = list(plan(connection.topics(settings), settings.partitions, settings.replication))
    created = create_topics(options, plans) if action == "create" else []
    for name in created:
        print(f"created {name}")
    deadline = time.monotonic() + (PROPAGATION_SECONDS if created else 0)
    while (mismatches := check_topics(options, plans)) and time.monotonic() < deadline:
        time.sleep(RETRY_SECONDS)
    mismatches += _width_mismatch(options, connection.topics(settings), settings.partitions, mismatches)
    for mismatch in mismatches:
        print(mismatch)
    if mismatches:
        raise BrokerError(
            f"not as planned: {counted(len(mismatches), 'setting')} of the topics; `onward topics create` creates what "
            "is missing, `kafka-configs.sh --alter` of Kafka mends the rest"
        )
    print(f"{len(plans)} topics are as planned")
    return 0


def _width_mismatch(options: KafkaOptions, topics: Topics, planned: int, mismatches: Sequence[str]) -> list[str]:
    """A line where the journal's records were written for another number of partitions than planned."""
    if any(line.startswith(f"{topics.journal}: does not exist") for line in mismatches):
        return []
    # Imported late, because it imports the Kafka client of workers.
    from ..kafka.consume.tail import tail

    def read(topic: str, partition: int, see: Callable[[Record], T], count: int = 1) -> Awaitable[list[T]]:
        return tail(options, TopicPartition(topic, partition), see, count)

    try:
        written = asyncio.run(written_width(read, topics))
    except BrokerError as error:
        print(f"{topics.journal}: the number of partitions that it began with is not checked: {error}", file=sys.stderr)
        return []
    if written in (None, planned):
        return []
    return [
        f"{topics.journal}: its records were written for {written} partitions, should be for {planned}: partitions "
        "were added, or --partitions is another; workers refuse to go on (docs/operations.md, Starting again)"
    ]
