"""A journal on an embedded broker that is archived and then cut.

The broker cuts nothing that it is asked to. It forgets the beginning of a partition that is too large.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from onward.schemas.events import Tick
from onward.streams.archive.store import Archive
from onward.streams.journal.lines import pack_lines, tick_line
from onward.streams.kafka.admin.offsets import PartitionOffsets, partition_offsets
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.kafka.options import KafkaOptions
from onward.streams.kafka.produce.publisher import KafkaPublisher
from onward.streams.records import TopicPartition
from onward.streams.worker.journal_archiver import JournalArchiver
from onward.streams.worker.stages import ignore_stage
from onward.tests.support.installations import TOPICS

SEGMENT_BYTES = 100_000
PADDING_BYTES = 40_000


def archive_and_cut(broker: EmbeddedBroker, archive: Archive, now_ms: int) -> None:
    """Archive all partitions of the journal, and let each begin later, at a record that is archived."""
    with EventWriter(broker.options()) as writer:
        _pad(writer, _journal_of(broker), now_ms)
        asyncio.run(_archive(broker.options(), archive, now_ms))
        while whole := [own for own in _journal_of(broker) if not own.begin]:
            _pad(writer, whole, now_ms)


def _journal_of(broker: EmbeddedBroker) -> list[PartitionOffsets]:
    return partition_offsets(broker.options(), [TOPICS.journal])


def _pad(writer: EventWriter, journal: Iterable[PartitionOffsets], now_ms: int) -> None:
    """Append a large tick, which changes nothing, to partitions of the journal."""
    for own in journal:
        [out] = pack_lines(own.topic, own.partition, [tick_line(Tick(()), now_ms)])
        headers = [*out.headers, ("padding", bytes(PADDING_BYTES))]
        writer.send(out.topic, out.value or b"", headers=headers, partition=out.partition)
    writer.flush()


async def _archive(options: KafkaOptions, archive: Archive, now_ms: int) -> None:
    async with KafkaPublisher(options) as publisher:
        archiver = JournalArchiver(archive, publisher, lambda: now_ms, ignore_stage, SEGMENT_BYTES)
        for own in await asyncio.to_thread(partition_offsets, options, [TOPICS.journal]):
            kept = own.begin
            while kept < own.end:
                kept = await archiver.keep_segments(TopicPartition(own.topic, own.partition), kept, own.end)
