"""Ingest and partition processor with a ledger, on a broker in memory: Onward is measured without Kafka.

    async with MemoryWorker(spec, state_folder) as worker:
        await worker.serve(applications, now_ms)
        worker.cpu_seconds

Journal records go to the processor at once. Outputs are counted and dropped, but for answers where they are kept.
"""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from onward.benchmarks.arena.load import InputRecord
from onward.streams.ingest.ingest import Ingest
from onward.streams.metrics import Metrics
from onward.streams.programs.assembly import assemble_all
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.records import Record, TopicPartition
from onward.streams.topics import Topics
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.tests.support.discarding_broker import DiscardingBroker

CHUNK = 500
_GARBAGE_OBJECTS = 100_000
"""The garbage collector threshold of the worker."""


class _NoLag:
    """A ``Lag`` of 0 for every partition, with which ingest writes ticks."""

    def lag(self, partition: TopicPartition) -> int:
        return 0


class MemoryWorker:
    """One worker with one partition a topic. ``cpu_seconds`` is the processor time of the handlers."""

    def __init__(self, spec: Path, state: Path, *, keeps_answers: bool = False) -> None:
        self.cpu_seconds = 0.0
        self.topics = Topics()
        self.kafka = DiscardingBroker(self.topics.journal, *([self.topics.recourse] if keeps_answers else []))
        self._now_ms = 0
        self._read: defaultdict[str, int] = defaultdict(int)
        self._programs = assemble_all([load_program_spec(spec)])
        self._metrics = Metrics()
        parts: Mapping[str, Any] = {"topics": self.topics, "programs": self._programs, "publisher": self.kafka}
        parts = {**parts, "metrics": self._metrics, "clock_ms": self._clock_ms}
        self._ingest = Ingest(**parts)
        self._processor = PartitionProcessor(**parts, config=ProcessorConfig(state))

    async def serve(self, applications: Sequence[InputRecord], now_ms: int) -> None:
        """Serve at most one chunk of applications, then move event time to ``now_ms``."""
        await self._serve(self.topics.applications, applications, now_ms)

    async def tell(self, outcomes: Sequence[InputRecord], now_ms: int) -> None:
        """Serve outcomes."""
        await self._serve(self.topics.outcomes, outcomes, now_ms)

    def answers(self) -> list[Record]:
        """Return and forget the answers since the last call, where they are kept."""
        return self.kafka.take(self.topics.recourse)

    def gauge(self, name: str, label: str) -> dict[str, float]:
        """The values of a gauge by one of its labels."""
        [family] = self._metrics.registry.restricted_registry([name]).collect()
        return {sample.labels[label]: sample.value for sample in family.samples}

    async def announce(self, model: InputRecord, now_ms: int) -> None:
        """Serve the event of a new model."""
        await self._serve(self.topics.models, [model], now_ms)

    async def _serve(self, topic: str, sent: Sequence[InputRecord], now_ms: int) -> None:
        self._now_ms = now_ms
        first = self._read[topic]
        self._read[topic] += len(sent)
        records = [
            Record(topic, 0, first + number, now_ms, key, value, tuple(headers))
            for number, (key, value, headers) in enumerate(sent)
        ]
        with self._measured():
            await self._ingest.handle(records)
            await self._ingest.tick(_NoLag())
            await self._fold()

    async def pass_time(self, now_ms: int) -> None:
        """Move event time to ``now_ms``."""
        self._now_ms = now_ms
        with self._measured():
            await self._ingest.tick(_NoLag())
            await self._fold()

    async def last(self, topic: str) -> bytes:
        """The value of the last record of an output topic."""
        [value] = await self.kafka.tail(topic, 0, lambda record: record.value or b"")
        return value

    @property
    def is_closing(self) -> bool:
        """Whether there is work that later entries carry on, such as a round that has ended and is not closed."""
        return bool(self._processor.unfinished_partitions)

    async def carry_on(self) -> None:
        """Do its next piece."""
        with self._measured():
            await self._ingest.carry_on([0])
            await self._fold()

    async def __aenter__(self) -> Self:
        self._threshold = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(_GARBAGE_OBJECTS)
        self._journal = [TopicPartition(self.topics.journal, 0)]
        await self._processor.assigned(self._journal)
        await self._ingest.assigned(TopicPartition(topic, 0) for topic in self.topics.inputs)
        await self._fold()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._processor.revoked(self._journal)
        gc.unfreeze()
        gc.set_threshold(*self._threshold)

    async def _fold(self) -> None:
        if chunk := self.kafka.take(self.topics.journal):
            await self._processor.handle(chunk)

    def _clock_ms(self) -> int:
        return self._now_ms

    @contextmanager
    def _measured(self) -> Any:
        before = time.process_time()
        try:
            yield
        finally:
            self.cpu_seconds += time.process_time() - before
