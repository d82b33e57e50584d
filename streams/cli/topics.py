"""``onward topics``: creates the topics of an installation, or checks them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Literal

from ..errors import BrokerError
from ..kafka import connection
from ..kafka.admin.topics import check_topics, create_topics
from ..settings import TopicSettings
from ..topics import plan
from .flags.actions import run_action
from .flags.parsing import parse_settings

PROPAGATION_SECONDS, RETRY_SECONDS = 10.0, 0.25
"""A new topic becomes known to one broker after the other."""

USAGE = """usage: onward topics {create,check} [FLAGS]

  create  Create the topics that do not exist yet, then check all.
  check   Say what is missing or different from the plan; exit code 3 when something is.

`onward topics create --help` explains the flags."""


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
    for mismatch in mismatches:
        print(mismatch)
    if mismatches:
        raise BrokerError(
            f"{len(mismatches)} of the topics' settings are not as planned: `onward topics create` creates what is "
            "missing, mend the rest on the Kafka"
        )
    print(f"{len(plans)} topics are as planned")
    return 0
