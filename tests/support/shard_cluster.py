"""Workers of several journal partitions, whose shards tell each other what they have learned."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from onward.agents.choices import Pull
from onward.schemas.events import Application, DeadLetter, Outcome, Result
from onward.schemas.headers import cloud_event_headers
from onward.streams.engine.cases import Status
from onward.streams.ingest.ingest import Ingest
from onward.streams.journal.entries import shard_of
from onward.streams.ledger.array_codec import unpack
from onward.streams.metrics import Metrics
from onward.streams.records import Record, TopicPartition
from onward.streams.topics import Topics
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.testing.ledger import rows
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import START_MS, Sender, no_clock, without_generation
from onward.testing.program import build_program
from onward.testing.tape import POOR, TIMED
from onward.tests.support.ledgers import cases

SHARDS, CADENCE = 4, 3
TOPICS = Topics()


class Cluster:
    """Workers of all journal partitions, ingest, and the topics between them; with two partitions each has two
    shards."""

    def __init__(self, folder: Path, width: int = 2, **program: Any) -> None:
        given = {"choice": "residual", "shards": SHARDS, **TIMED, **program}
        self.programs = {"loan": build_program(**given)}
        self.folder, self.width, self.broker, self.metrics = folder, width, MemoryBroker(width), Metrics()
        self.sender, self.ingest = Sender(), Ingest(TOPICS, self.programs, self.broker, Metrics(), no_clock)
        self.lost: Callable[[Record], bool] = lambda _: False
        self._read: defaultdict[int, int] = defaultdict(int)
        self._folded: defaultdict[tuple[str, int], int] = defaultdict(int)
        everything = [TopicPartition(topic, place) for topic in TOPICS.ingested for place in range(width)]
        asyncio.run(self.ingest.assigned(everything))

    def send(self, topic: str, event: Any, id: str) -> None:
        record = self.sender.record(topic, event, time_ms=START_MS + sum(self.sender.sent.values()), id=id)
        asyncio.run(self.ingest.handle([record]))

    def person(self, number: int) -> None:
        """Somebody applies, and reports what came of it."""
        self.send("applications", Application("loan", f"p{number}", POOR), f"a{number}")
        result: Result = "improved" if number % 3 else "not_improved"
        self.send("outcomes", Outcome("loan", f"p{number}", result, "1"), f"o{number}")

    def people(self, first: int, last: int) -> None:
        for number in range(first, last):
            self.person(number)

    def settle(self, name: str = "ledgers", restarts: bool = False) -> None:
        """Fold what stands in the journals, and carry increments on, until nothing is left to do."""
        while any(self._fold(place, name, restarts) for place in range(self.width)) or self._carry():
            pass

    def _fold(self, place: int, name: str, restarts: bool) -> bool:
        journal = self.broker.logs["journal", place]
        before, self._folded[name, place] = self._folded[name, place], len(journal)
        parts = [[record] for record in journal[before:]] if restarts else [journal[before:]]
        for part in filter(None, parts):
            asyncio.run(fold(self, self.broker, place, part, name))
        return before < len(journal)

    def _carry(self) -> bool:
        new = [record for place in range(self.width) for record in self.told(place)[self._read[place] :]]
        for record in new:
            self._read[record.partition] += 1
            if not self.lost(record):
                asyncio.run(self.ingest.handle([record]))
        return bool(new)

    def told(self, place: int) -> list[Record]:
        return self.broker.logs["increments", place]

    def tell(self, value: bytes, place: int = 0) -> None:
        """An increment that no worker of this installation has written, or a copy of one."""
        log, headers = self.told(place), cloud_event_headers("strange", "test", "onward.increment.v1", START_MS)
        log.append(Record("increments", place, len(log), START_MS, None, value, tuple(headers)))

    def ledger(self, place: int, name: str = "ledgers") -> Path:
        return self.folder / name / f"journal-{place}.sqlite"

    def learned(self, name: str = "ledgers") -> dict[int, dict[str, np.ndarray]]:
        """What each shard has learned."""
        return {
            shard: dict(unpack(body))
            for place in range(self.width)
            for shard, body in rows(self.ledger(place, name), "SELECT shard, learner FROM shards")
        }

    def taught(self, but: Sequence[int] = ()) -> dict[str, np.ndarray]:
        """What one learner learns of all outcomes, by what the cases hold; without those of some shards."""
        learner = self.programs["loan"].learner()
        for case in [case for place in range(self.width) for case in cases(self.ledger(place))]:
            if case.status is Status.REWARDED and case.shard not in but:
                [option], number = case.options, int(case.key.application[1:])
                assert case.step is not None
                learner.update(Pull(case.step, option.arm, option.execution, option.context), float(number % 3 > 0))
        return learner.state()

    def count(self, result: str) -> float:
        found = self.metrics.registry.get_sample_value("onward_increments_total", {"program": "loan", "result": result})
        return found or 0.0

    def letters(self) -> list[DeadLetter]:
        logs = [self.broker.logs["dead-letters", place] for place in range(self.width)]
        return [msgspec.json.decode(record.value or b"", type=DeadLetter) for log in logs for record in log]


async def fold(cluster: Cluster, broker: MemoryBroker, place: int, part: Sequence[Record], name: str) -> None:
    config, at = ProcessorConfig(cluster.folder / name), TopicPartition("journal", place)
    processor = PartitionProcessor(TOPICS, cluster.programs, broker, cluster.metrics, no_clock, config)
    await processor.assigned([at])
    try:
        await processor.handle(list(part))
    finally:
        await processor.revoked([at])


def bits(state: dict[str, np.ndarray]) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in state.items()}


def outputs(broker: MemoryBroker) -> dict[tuple[str, int], list[tuple[Any, ...]]]:
    names = TOPICS.outputs
    return {
        at: [(one.key, one.value, one.timestamp_ms, tuple(without_generation(one.headers))) for one in log]
        for at, log in sorted(broker.logs.items())
        if at[0] in names and log
    }


class _Anew(MemoryBroker):
    """Empty outputs. What is read again ends where it did on the broker ``before``."""

    before: MemoryBroker

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the ends of the broker before."""
        return await self.before.end_offsets(partitions)


def rebuilt(cluster: Cluster, name: str, together: int) -> MemoryBroker:
    """Fold the journals again, in chunks, into other ledgers and topics; the inputs end where they did."""
    broker = _Anew(cluster.width)
    broker.before = cluster.broker
    for place in range(cluster.width):
        journal = cluster.broker.logs["journal", place]
        broker.logs["journal", place] = journal
        for start in range(0, len(journal), together):
            asyncio.run(fold(cluster, broker, place, journal[start : start + together], name))
    return broker


def told_evenly(cluster: Cluster) -> None:
    """Let as many people of each shard report as make it tell all of them."""
    left = dict.fromkeys(range(SHARDS), 2 * CADENCE)
    for number in range(1000):
        shard = shard_of(f"p{number}", SHARDS)
        if left[shard]:
            left[shard] -= 1
            cluster.person(number)
            cluster.settle()
