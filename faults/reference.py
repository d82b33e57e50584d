"""The uninterrupted run: the same journal folded once, in memory, by a processor that nothing happens to."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from onward.streams.metrics import Metrics
from onward.streams.outputs.emission import GENERATION
from onward.streams.programs.program import Program
from onward.streams.records import Headers, OutRecord, Record, TopicPartition
from onward.streams.topics import Topics
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig

T = TypeVar("T")
Dump = list[str]
"""A ledger's content, a line each."""

_BY_NAME = {
    "programs": "SELECT program, decisions, spec, first_model, version, manifest, sha256 FROM programs",
    "cases": "SELECT programs.program, application, queue, due, body "
    "FROM cases NOT INDEXED LEFT JOIN programs ON programs.id = cases.program",
}
"""Tables in which a program has a number. It tells when the program was added, which changes nothing."""


@dataclass
class MemoryBroker:
    """A broker in memory: a ``Publisher`` whose partitions are lists."""

    width: int = 1
    logs: dict[tuple[str, int], list[Record]] = field(default_factory=lambda: defaultdict(list))

    async def publish(self, records: Sequence[OutRecord]) -> None:
        """Append."""
        for out in records:
            log = self.logs[out.topic, out.partition]
            log.append(
                Record(out.topic, out.partition, len(log), out.timestamp_ms, out.key, out.value, tuple(out.headers))
            )

    async def partitions(self, topic: str) -> int:  # noqa: ARG002
        """All topics have as many."""
        return self.width

    async def tail(self, topic: str, partition: int, see: Callable[[Record], T], count: int = 1) -> list[T]:
        """What is seen of the last records."""
        return [see(record) for record in self.logs[topic, partition][-count:]]

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Of what was written here; other topics' records have come from elsewhere, as many as were ever told of."""
        return {at: len(self.logs[at]) if at in self.logs else sys.maxsize for at in partitions}


class Standing(NamedTuple):
    """Of which journal partition a ledger is, and the next offset it would fold."""

    partition: int
    offset: int


class Reference(NamedTuple):
    """What an uninterrupted run publishes, and what its ledgers hold at the offsets that were asked for."""

    outputs: list[Record]
    dumps: Mapping[Standing, Dump]


def uninterrupted(
    programs: Mapping[str, Program],
    topics: Topics,
    journal: Iterable[Record],
    stops: Iterable[Standing],
    directory: Path,
) -> Reference:
    """Fold a journal as far as ``stops`` go, with ledgers in a new ``directory``."""
    stops = sorted(stops)
    width = 1 + max(stop.partition for stop in stops)
    ends = {stop.partition: stop.offset for stop in stops}
    broker = MemoryBroker(width)
    for record in journal:
        if record.offset < ends.get(record.partition, 0):
            broker.logs[topics.journal, record.partition].append(record)
    dumps: dict[Standing, Dump] = {}

    async def fold() -> None:
        processor = PartitionProcessor(topics, programs, broker, Metrics(), lambda: 0, ProcessorConfig(directory))
        partitions = [TopicPartition(topics.journal, number) for number in sorted(ends)]
        await processor.assigned(partitions)
        done = dict.fromkeys(ends, 0)
        for stop in stops:
            log = broker.logs[topics.journal, stop.partition]
            if part := log[done[stop.partition] : stop.offset]:
                await processor.handle(part)
            done[stop.partition] = stop.offset
            dumps[stop] = dump(directory / f"{topics.journal}-{stop.partition}.sqlite")
        await processor.revoked(partitions)

    asyncio.run(fold())
    return Reference([record for topic in topics.outputs for n in ends for record in broker.logs[topic, n]], dumps)


def standing(ledger: Path) -> Standing:
    """Where a ledger stands."""
    with closing(sqlite3.connect(ledger)) as db:
        meta = dict(db.execute("SELECT name, value FROM meta WHERE name IN ('partition', 'offset')"))
    return Standing(meta["partition"], meta["offset"])


def dump(ledger: Path) -> Dump:
    """A ledger's whole content, in an order of its own, but for how often it was opened and programs' numbers."""
    told_by_name = tuple(f'INSERT INTO "{table}"' for table in _BY_NAME)
    with closing(sqlite3.connect(ledger)) as db:
        lines = [line for line in db.iterdump() if "'generation'" not in line and not line.startswith(told_by_name)]
        for table, query in _BY_NAME.items():
            lines += [f"{table} {row}" for row in db.execute(query)]
        return sorted(lines)


def without_generation(headers: Headers) -> Headers:
    """What does not depend on how often the writer was started."""
    return tuple(header for header in headers if header[0] != GENERATION)
