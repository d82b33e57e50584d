"""Ingest and processor as the worker runs them, ledger included, on a Kafka that forgets: Onward alone is measured.

    async with MemoryWorker(spec, state_folder) as worker:
        await worker.serve(applications, now_ms)
        worker.cpu_seconds

What ingest appends is handed to the processor at once; outputs are counted and dropped.
"""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from onward.benchmarks.arena.load import Sent
from onward.streams.ingest.ingest import Ingest
from onward.streams.metrics import Metrics
from onward.streams.programs.program import assemble_all
from onward.streams.programs.spec_check import load_program_spec
from onward.streams.records import Record, TopicPartition
from onward.streams.topics import Topics
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.tests.support.memory_broker import DiscardingBroker

CHUNK = 500
_GARBAGE_OBJECTS = 100_000
"""As the worker sets the garbage collector."""


class _NoLag:
    """A ``Lag`` by which every partition may tell the journal that time passes."""

    def lag(self, partition: TopicPartition) -> int:  # noqa: ARG002
        return 0


class MemoryWorker:
    """One worker with all partitions, of which there is one a topic. ``cpu_seconds`` counts only what handlers take."""

    def __init__(self, spec: Path, state: Path) -> None:
        self.cpu_seconds = 0.0
        self.topics = Topics()
        self.kafka = DiscardingBroker(self.topics.journal)
        self._now_ms = 0
        self._read: defaultdict[str, int] = defaultdict(int)
        self._programs = assemble_all([load_program_spec(spec)])
        metrics = Metrics()
        parts: Mapping[str, Any] = {"topics": self.topics, "programs": self._programs, "publisher": self.kafka}
        self._ingest = Ingest(**parts, metrics=metrics, clock_ms=self._clock_ms)
        self._processor = PartitionProcessor(
            **parts, metrics=metrics, clock_ms=self._clock_ms, config=ProcessorConfig(state)
        )

    async def serve(self, applications: Sequence[Sent], now_ms: int) -> None:
        """Serve at most a chunk of applications, then let event time be ``now_ms``."""
        self._now_ms = now_ms
        topic = self.topics.applications
        first = self._read[topic]
        self._read[topic] += len(applications)
        records = [
            Record(topic, 0, first + number, now_ms, key, value, tuple(headers))
            for number, (key, value, headers) in enumerate(applications)
        ]
        with self._measured():
            await self._ingest.handle(records)
            await self._ingest.tick(_NoLag())
            await self._keep()

    async def __aenter__(self) -> Self:
        self._threshold = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(_GARBAGE_OBJECTS)
        self._journal = [TopicPartition(self.topics.journal, 0)]
        await self._processor.assigned(self._journal)
        await self._ingest.assigned(TopicPartition(topic, 0) for topic in self.topics.inputs)
        await self._keep()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._processor.revoked(self._journal)
        gc.unfreeze()
        gc.set_threshold(*self._threshold)

    async def _keep(self) -> None:
        if chunk := self.kafka.take_journal():
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
