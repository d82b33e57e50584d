"""The reference run: the same journal folded once, in memory, without faults."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from onward.streams.metrics import Metrics
from onward.streams.programs.program import Program
from onward.streams.records import Record, TopicPartition
from onward.streams.topics import Topics
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.testing.ledger import Dump, dump
from onward.testing.memory_broker import MemoryBroker
from onward.tests.support.ledgers import LedgerPosition


class _OutputsAlone(MemoryBroker):
    """Holds no inputs, and of outputs that are read again fewer copies: it does not know how many there were."""

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return no end for any partition."""
        return dict.fromkeys(partitions, sys.maxsize)


class ReferenceRun(NamedTuple):
    """The outputs of a run without faults, and the dumps of its ledgers at the requested positions."""

    outputs: list[Record]
    dumps: Mapping[LedgerPosition, Dump]


def reference_run(
    programs: Mapping[str, Program],
    topics: Topics,
    journal: Iterable[Record],
    positions: Iterable[LedgerPosition],
    directory: Path,
    inputs: Iterable[Record] = (),
) -> ReferenceRun:
    """Fold a journal up to the last of ``positions``, with ledgers in a new ``directory``. Dead letters hold the values
    of ``inputs``."""
    positions = sorted(positions)
    ends = {position.partition: position.offset for position in positions}
    broker = _OutputsAlone(width=1 + max(ends))
    broker.inputs = {(record.topic, record.partition, record.offset): record for record in inputs}
    for record in journal:
        if record.offset < ends.get(record.partition, 0):
            broker.logs[topics.journal, record.partition].append(record)
    dumps: dict[LedgerPosition, Dump] = {}

    async def fold() -> None:
        processor = PartitionProcessor(topics, programs, broker, Metrics(), lambda: 0, ProcessorConfig(directory))
        partitions = [TopicPartition(topics.journal, number) for number in sorted(ends)]
        await processor.assigned(partitions)
        folded = dict.fromkeys(ends, 0)
        for position in positions:
            log = broker.logs[topics.journal, position.partition]
            if chunk := log[folded[position.partition] : position.offset]:
                await processor.handle(chunk)
            folded[position.partition] = position.offset
            dumps[position] = dump(directory / f"{topics.journal}-{position.partition}.sqlite")
        await processor.revoked(partitions)

    asyncio.run(fold())
    outputs = [record for topic in topics.outputs for number in ends for record in broker.logs[topic, number]]
    return ReferenceRun(outputs, dumps)
