"""The topics of an Onward installation: names, partitions and the settings they must have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..schemas.kinds import Flow, Kind, kinds

DAY_MS = 24 * 60 * 60 * 1000
UNLIMITED = -1
RECORD_BYTES = 1_048_588
"""The least ``max.message.bytes`` of a topic, Kafka's own default: a batch of the publisher's with its framing."""


@dataclass(frozen=True)
class Topics:
    """Topic names: ``topics.journal``, and one for each topic of the table of kinds: ``topics.dead_letters``.

    ``prefix`` keeps several installations on one cluster apart.
    """

    prefix: str = ""

    @property
    def journal(self) -> str:
        """The one ordered log."""
        return f"{self.prefix}journal"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The topics that others write, and ingest reads."""
        return self._named("input")

    @property
    def ingested(self) -> tuple[str, ...]:
        """The topics that ingest reads: the inputs, and the outputs that are read again."""
        return tuple(map(self.topic_of, kinds.ingested))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The topics that the engine writes. Each has exactly as many partitions as the journal."""
        return self._named("output")

    def kept_days(self, topic: str) -> int | None:
        """How long a topic keeps its records; None for the journal, which workers cut (``--journal-days``)."""
        if topic == self.journal:
            return None
        return 7 if topic in (*self.inputs, self.dead_letters) else 28

    def topic_of(self, kind: Kind) -> str:
        """The topic of an input or output kind."""
        assert kind.topic is not None, f"{kind.name} has no topic"
        return self.prefix + kind.topic

    def __getattr__(self, name: str) -> str:
        for kind in kinds:
            if kind.topic is not None and kind.topic.replace("-", "_") == name:
                return self.topic_of(kind)
        raise AttributeError(f"there is no topic {name!r}")

    def _named(self, flow: Flow) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(self.topic_of, kinds.of_flow(flow))))


@dataclass(frozen=True)
class TopicPlan:
    """The partitions, replication and settings of a topic. Settings in ``least`` may also be larger."""

    name: str
    partitions: int
    replication: int
    config: Mapping[str, str]
    least: Mapping[str, int] = field(default_factory=dict)


def plan(topics: Topics, partitions: int, replication: int) -> Iterator[TopicPlan]:
    """How every topic is created and checked.

    The journal is kept until workers cut it (``--journal-days``): state is rebuilt from it. Inputs and dead letters are
    kept for a week, other outputs for four. Kafka deletes whole segments, and by default a segment is written for a
    week; so all are closed after a day. Nothing is compacted, because every record of every topic is a fact of its own.
    Records keep the timestamps that their writers give them, so that a replay finds the same.
    """
    durable = {
        "cleanup.policy": "delete",
        "min.insync.replicas": str(min(2, replication)),
        "unclean.leader.election.enable": "false",
        "retention.bytes": str(UNLIMITED),
        "message.timestamp.type": "CreateTime",
    }
    least = {"max.message.bytes": RECORD_BYTES}
    daily = {**durable, "segment.ms": str(DAY_MS)}
    for name in (*topics.inputs, topics.journal, *topics.outputs):
        days = topics.kept_days(name)
        retention_ms = UNLIMITED if days is None else days * DAY_MS
        yield TopicPlan(name, partitions, replication, {**daily, "retention.ms": str(retention_ms)}, least)
