"""The topics of an Onward installation: names, partitions and the settings they must have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

DAY_MS = 24 * 60 * 60 * 1000
UNLIMITED = -1
RECORD_BYTES = 1_048_588
"""What a topic must take at once, Kafka's own default: a batch of the publisher's and what surrounds it."""


@dataclass(frozen=True)
class Topics:
    """Topic names. ``prefix`` keeps several installations on one cluster apart."""

    prefix: str = ""
    applications: str = "applications"
    decisions: str = "decisions"
    outcomes: str = "outcomes"
    models: str = "models"
    journal: str = "journal"
    recourse: str = "recourse"
    rewards: str = "rewards"
    dead_letters: str = "dead-letters"

    def __post_init__(self) -> None:
        for own in fields(self):
            if own.name != "prefix":
                object.__setattr__(self, own.name, self.prefix + getattr(self, own.name))

    @property
    def inputs(self) -> tuple[str, ...]:
        """What ingest reads."""
        return (self.applications, self.decisions, self.outcomes, self.models)

    @property
    def outputs(self) -> tuple[str, ...]:
        """What the engine writes; each has exactly as many partitions as the journal."""
        return (self.recourse, self.rewards, self.dead_letters)


@dataclass(frozen=True)
class TopicPlan:
    """What a topic must look like on the broker. ``least`` are settings that may also be larger."""

    name: str
    partitions: int
    replication: int
    config: Mapping[str, str]
    least: Mapping[str, int] = field(default_factory=dict)


def plan(topics: Topics, partitions: int, replication: int) -> Iterator[TopicPlan]:
    """How every topic is created and checked.

    The journal is kept for ever by default: it is what state is rebuilt from. Nothing is compacted, because every
    record of every topic is a fact of its own. Records have the times that their writers give them: who folds the
    journal again must find the same.
    """
    durable = {
        "cleanup.policy": "delete",
        "min.insync.replicas": str(min(2, replication)),
        "unclean.leader.election.enable": "false",
        "retention.bytes": str(UNLIMITED),
        "message.timestamp.type": "CreateTime",
    }
    least = {"max.message.bytes": RECORD_BYTES}
    week = {**durable, "retention.ms": str(7 * DAY_MS)}
    month = {**durable, "retention.ms": str(30 * DAY_MS)}
    for name in topics.inputs:
        yield TopicPlan(name, partitions, replication, week, least)
    yield TopicPlan(topics.journal, partitions, replication, {**durable, "retention.ms": str(UNLIMITED)}, least)
    for name in topics.outputs:
        yield TopicPlan(name, partitions, replication, month, least)
