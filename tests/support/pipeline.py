"""A small program in memory, input records for it, and the pipeline without Kafka."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from onward.schemas.encoding import FeatureCodec
from onward.schemas.events import SourcePosition, Tick
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type, kinds
from onward.schemas.spec import ProgramSpec
from onward.streams.ingest.ingest import Ingest, keep_nothing
from onward.streams.journal.lines import pack_lines, tick_line
from onward.streams.metrics import Metrics
from onward.streams.programs.bundle.loader import ModelBundle
from onward.streams.programs.bundle.manifest import BundleFile, FeatureColumn, Manifest
from onward.streams.programs.models.scoring import DecisionModel
from onward.streams.programs.program import Program, cost_of
from onward.streams.records import HandOver, Record, TopicPartition
from onward.streams.topics import Topics
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.tests.support.comparison import dump as dump
from onward.tests.support.comparison import without_generation as without_generation
from onward.tests.support.memory_broker import MemoryBroker as MemoryBroker
from onward.tests.support.programs import FEATURES as FEATURES

START_MS = 1_790_000_000_000
PLAIN: Mapping[str, Any] = {"objective": "cost", "generator": "instances", "options": 1}
"""What a test's program does where the test says nothing else: its options are few and known."""
"""Event time of the first event of a test."""


class IncomeModel:
    """Scores income against debts; no two candidates tie."""

    def score(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score the rows between 0 and 1."""
        return np.clip(X[:, 2] - 0.5 * X[:, 3], 0.0, 1.0)


def instances(count: int, regions: Sequence[str] = ("south", "north")) -> list[dict[str, Any]]:
    """Make rows that the model accepts, alternating between the regions."""
    rows: list[dict[str, Any]] = []
    for index in range(count):
        region = regions[index % 2]
        rows.append({"region": region, "income": 70.0 + 29.0 * index / count, "debts": index % 3})
    return rows


def build_program(
    name: str = "loan",
    *,
    window: Mapping[str, Any] | None = None,
    decisions: str = "model",
    shards: int = 1,
    choice: str = "linucb",
    candidates: int = 8,
    features: Sequence[Mapping[str, Any]] = FEATURES,
    policy: Mapping[str, Any] | None = None,
    regions: Sequence[str] = ("south", "north"),
    capacity: Mapping[str, Any] | None = None,
    promise: Mapping[str, Any] | None = None,
    elicitation: Mapping[str, Any] | None = None,
    model: DecisionModel | None = None,
    retrains: Sequence[DecisionModel] = (),
    threshold: float = 0.5,
    effects: Sequence[Mapping[str, Any]] = (),
    computed: Mapping[str, str] | None = None,
) -> Program:
    """Build a program with a linear model and generated instances."""
    spec = msgspec.convert(
        {
            "program": name,
            "features": list(features),
            "label": {"name": "repaid"},
            "model": {"manifest": "unused", "threshold": threshold},
            "policy": {**PLAIN, "choice": choice, "window": dict(window or {"steps": 4}), **(policy or {})},
            "decisions": decisions,
            "shards": shards,
            "capacity": capacity,
            "promise": promise or {},
            "elicitation": elicitation,
            "effects": list(effects),
            "computed": dict(computed or {}),
            "instances": {"publish": {**PLAIN, **(policy or {})}["generator"] == "instances"},
        },
        ProgramSpec,
    )
    codec = FeatureCodec(spec)
    rows = instances(candidates, regions)
    nothing = BundleFile("none", 0, "0" * 64)
    manifest = Manifest(
        program=name,
        version="v1",
        estimator="IncomeModel",
        columns=codec.columns,
        features=tuple(map(FeatureColumn.of, spec.features)),
        model=nothing,
        instances=nothing,
        reference=nothing,
    )
    bundle = ModelBundle("v1", "memory", "1" * 64, manifest, model or IncomeModel(), rows, rows, retrains)
    points = codec.encode_many(rows)
    return Program(spec, codec, bundle, tuple(rows), points, cost_of(codec, rows), 1.0 / codec.dimension)


@dataclass
class Sender:
    """Writes input records as an outside system would: JSON, CloudEvents headers, one partition a topic."""

    sent: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def record(self, topic: str, event: Any, *, time_ms: int, id: str, raw: bytes | None = None) -> Record:
        """Make the next record of a topic; ``raw`` replaces the event's JSON."""
        offset = self.sent[topic]
        self.sent[topic] += 1
        headers = cloud_event_headers(id, "test", ce_type(event), time_ms) if event is not None else []
        value = msgspec.json.encode(event) if raw is None else raw
        return Record(topic, 0, offset, time_ms, None, value, headers)


def no_clock() -> int:
    """The worker's clock in tests: one day after the first event."""
    return START_MS + 24 * 60 * 60 * 1000


@dataclass
class Run:
    """Input records through ingest into a journal, and the journal through the engine, without Kafka."""

    programs: Mapping[str, Program]
    directory: Path
    topics: Topics = field(default_factory=Topics)
    broker: MemoryBroker = field(default_factory=MemoryBroker)
    waiting_limit: int = 10_000
    draw_key: Callable[[], str] = secrets.token_hex
    clock_ms: Callable[[], int] = no_clock
    hand_over: HandOver = keep_nothing

    def __post_init__(self) -> None:
        self._ingest: Ingest | None = None
        self._served: Mapping[str, Program] = {}

    async def ingest(self, records: Sequence[Record]) -> list[Record]:
        """Ingest the records one after the other, as a worker does that starts anew for other programs; return the
        journal."""
        if self._ingest is None or self._served is not self.programs:
            self._served = self.programs
            self._ingest = Ingest(
                *(self.topics, self.programs, self.broker, Metrics(), self.clock_ms),
                draw_key=self.draw_key,
                hand_over=self.hand_over,
            )
            await self._ingest.assigned(TopicPartition(topic, 0) for topic in self.topics.inputs)
        for record in records:
            self.broker.inputs[record.topic, record.partition, record.offset] = record
            await self._ingest.handle([record])
        return self.broker.logs[self.topics.journal, 0]

    async def fold(self, journal: Sequence[Record], cuts: Sequence[int] = (), name: str = "ledger") -> Path:
        """Fold a journal in chunks that end at ``cuts``; return the ledger. Outputs go to the broker."""
        config = ProcessorConfig(self.directory / name, self.waiting_limit)
        processor = PartitionProcessor(self.topics, self.programs, self.broker, Metrics(), no_clock, config)
        partition = TopicPartition(self.topics.journal, 0)
        await processor.assigned([partition])
        try:
            for start, end in pairwise(sorted({0, *cuts, len(journal)})):
                await processor.handle(journal[start:end])
        finally:
            await processor.revoked([partition])
        return config.directory / f"{self.topics.journal}-0.sqlite"

    def outputs(self) -> dict[str, list[tuple[bytes | None, bytes, int, tuple[tuple[str, bytes], ...]]]]:
        """Return every published byte by topic."""
        return {
            topic: [
                (record.key, record.value or b"", record.timestamp_ms, tuple(without_generation(record.headers)))
                for record in self.broker.logs[topic, 0]
            ]
            for topic in self.topics.outputs
        }

    def events(self, topic: str, kind: Any) -> list[Any]:
        """Return the decoded events of a topic."""
        return [msgspec.json.decode(record.value or b"", type=kind) for record in self.broker.logs[topic, 0]]


def models_in(run: Run) -> set[tuple[str, str, str | None]]:
    """The topic, version and hash of every model that an output names."""
    events = [
        (topic, msgspec.json.decode(value)) for topic, outputs in run.outputs().items() for _, value, _, _ in outputs
    ]
    return {(topic, event["model"], event.get("model_sha256")) for topic, event in events if "model" in event}


def idle_tick(run: Run, time_ms: int) -> Record:
    """Make a journal record that moves the clock of every input to ``time_ms``."""
    sources = tuple(SourcePosition(run.topics.of(kind), 0, time_ms) for kind in kinds.of("input") if kind.clocks)
    [out] = pack_lines(run.topics.journal, 0, [tick_line(Tick(sources), time_ms)])
    log = run.broker.logs[run.topics.journal, 0]
    return Record(out.topic, 0, len(log), out.timestamp_ms, out.key, out.value, tuple(out.headers))
