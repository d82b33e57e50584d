"""The pipeline without Kafka: input records, the journal that ingest writes, and the engine that folds it."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from ..schemas.events import SourcePosition, Tick
from ..schemas.headers import cloud_event_headers
from ..schemas.kinds import ce_type, kinds
from ..streams.ingest.ingest import Ingest, keep_nothing
from ..streams.journal.lines import pack_lines, tick_line
from ..streams.metrics import Metrics
from ..streams.outputs.emission import ENGINE, GENERATION
from ..streams.programs.program import Program
from ..streams.records import HandOver, Headers, Record, TopicPartition
from ..streams.topics import Topics
from ..streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from ..streams.worker.stages import Stage, ignore_stage
from .memory_broker import MemoryBroker

START_MS = 1_790_000_000_000
"""Event time of the first event of a test."""


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
class PipelineRun:
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
        chunks = [journal[start:end] for start, end in pairwise(sorted({0, *cuts, len(journal)}))]
        return await self.handled(chunks, name, Metrics())

    async def handled(
        self,
        chunks: Iterable[Sequence[Record]],
        name: str,
        metrics: Metrics,
        observe: Callable[[Stage], None] = ignore_stage,
    ) -> Path:
        """Let one worker fold the chunks into the ledger of this name; return the ledger's file."""
        config = ProcessorConfig(self.directory / name, self.waiting_limit)
        processor = PartitionProcessor(self.topics, self.programs, self.broker, metrics, no_clock, config, observe)
        partition = TopicPartition(self.topics.journal, 0)
        await processor.assigned([partition])
        try:
            for chunk in chunks:
                await processor.handle(chunk)
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


def idle_tick(run: PipelineRun, time_ms: int) -> Record:
    """Make a journal record that moves the clock of every input to ``time_ms``."""
    sources = tuple(
        SourcePosition(run.topics.topic_of(kind), 0, time_ms) for kind in kinds.of_flow("input") if kind.clocks
    )
    [out] = pack_lines(run.topics.journal, 0, [tick_line(Tick(sources), time_ms)])
    log = run.broker.logs[run.topics.journal, 0]
    return Record(out.topic, 0, len(log), out.timestamp_ms, out.key, out.value, tuple(out.headers))


def without_generation(headers: Headers) -> Headers:
    """Drop the headers that count how often the writer was started, and say which engine it has."""
    return tuple(header for header in headers if header[0] not in (GENERATION, ENGINE))
