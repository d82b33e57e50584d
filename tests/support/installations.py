"""A broker whose topics a running worker serves, for the tests of the commands."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from onward.streams.cli import main
from onward.streams.kafka.client import EventReader
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.topics import Topics

TOPICS = Topics()
WORLD = ["--policies", "linucb", "--seed", "2"]
PATIENCE = ["--patience-seconds", "3600"]


def read_events(broker: EmbeddedBroker, topic: str, least: int = 0, run_name: str = "") -> list[Any]:
    """All events of a topic, at least ``least``; with a run's name those about its applications."""
    events: list[Any] = []
    prefix = f"{run_name}-" if run_name else ""
    with EventReader(broker.options(), [topic]) as reader:
        while not reader.caught_up or len(events) < least:
            found = [json.loads(record.value or b"") for record in reader.poll(0.2)]
            events += [event for event in found if event.get("application", "").startswith(prefix)]
    return events


@dataclass(frozen=True)
class Installation:
    """A broker with a worker that serves the program ``personal-loan-linucb``."""

    broker: EmbeddedBroker

    def simulate(self, *flags: str) -> int:
        brokers = ["--brokers", self.broker.bootstrap]
        return main(["simulate", *WORLD, "--approved-share", "0", *brokers, *PATIENCE, *flags])

    def wait_for_journaled(self, text: str) -> None:
        """Return when the journal holds a text: a worker tries a model before."""
        with EventReader(self.broker.options(), [TOPICS.journal]) as reader:
            while not any(text.encode() in (record.value or b"") for record in reader.poll(0.2)):
                pass

    def answers(self, run_name: str, least: int) -> list[Any]:
        return read_events(self.broker, TOPICS.recourse, least, run_name)
