"""Which partitions of the journal learn of a record, and of a program."""

from __future__ import annotations

import asyncio

from onward.schemas.events import DeadLetter, Erasure, Model, Outcome, RawSpec, Tick
from onward.streams.ingest.ingest import Ingest
from onward.streams.journal.lines import read_entries
from onward.streams.metrics import Metrics
from onward.streams.records import TopicPartition
from onward.streams.topics import Topics
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import START_MS, Sender, no_clock
from onward.testing.program import build_program


def start(broker):
    return Ingest(Topics(), {"loan": build_program(shards=12)}, broker, Metrics(), no_clock)


def journal(broker):
    return [[entry for record in broker.logs["journal", at] for entry in read_entries(record)] for at in range(3)]


def test_a_refused_model_is_one_dead_letter_and_every_partition_knows_that_it_was_read():
    broker = MemoryBroker(width=3)
    record = Sender().record("models", Model("loan", "v2", "https://elsewhere/m", "3" * 64), time_ms=START_MS, id="m")

    async def go():
        ingest = start(broker)
        await ingest.assigned([TopicPartition("models", 0)])
        await ingest.handle([record])

    asyncio.run(go())
    last = [entries[-1] for entries in journal(broker)]
    assert [type(entry.body) for entry in last] == [DeadLetter, Tick, Tick]
    assert {(entry.source, entry.source_offset) for entry in last} == {(TopicPartition("models", 0), 0)}


def test_every_partition_of_a_program_reads_an_erasure_with_a_key_of_its_own_making():
    broker = MemoryBroker(width=3)
    record = Sender().record("erasures", Erasure("loan", "Zoe\u0308"), time_ms=START_MS, id="e")

    async def go():
        ingest = start(broker)
        await ingest.assigned([TopicPartition("erasures", 0)])
        await ingest.handle([record])

    asyncio.run(go())
    bodies = [entries[-1].body for entries in journal(broker)]
    assert {(body.program, body.application, body.applicant) for body in bodies} == {("loan", "Zo\u00eb", None)}
    assert {len(body.key) for body in bodies} == {64}


def test_a_record_that_cannot_be_read_goes_to_the_partition_of_the_journal_that_its_own_number_names():
    """As before a restart: its repeats are found there."""
    broker, sender = MemoryBroker(width=3), Sender()
    record = sender.record("outcomes", Outcome("loan", "a", "improved"), time_ms=START_MS, id="o", raw=b"{")

    async def go():
        ingest = start(broker)
        await ingest.assigned([TopicPartition("outcomes", 4)])
        await ingest.handle([record._replace(partition=4)])

    asyncio.run(go())
    last = [type(entries[-1].body) for entries in journal(broker)]
    assert last == [Tick, DeadLetter, Tick]


class GrowingBroker(MemoryBroker):
    """Its inputs get another partition each time that they are counted."""

    more = 0

    async def partitions(self, topic):
        self.more += topic == "models"
        return self.width if topic == "journal" else self.width + self.more


def test_a_new_partition_of_an_input_is_announced_and_no_program_declared_again():
    broker = GrowingBroker(width=3)

    async def go():
        ingest = start(broker)
        for _ in range(2):
            await ingest.assigned([])

    asyncio.run(go())
    for entries in journal(broker):
        assert [type(entry.body) for entry in entries] == [RawSpec, Tick, Tick]
        assert ("models", 4) in [(one.topic, one.partition) for one in entries[-1].body.sources]
