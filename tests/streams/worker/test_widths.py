"""Numbers of partitions that change: workers notice before they read or write anything more."""

from __future__ import annotations

import asyncio

import pytest

from onward.schemas.events import Application, Outcome
from onward.streams.errors import LedgerError
from onward.streams.ingest.ingest import Ingest
from onward.streams.metrics import Metrics
from onward.streams.records import TopicPartition
from onward.streams.topics import Topics
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.testing.memory_broker import MemoryBroker
from onward.testing.pipeline import START_MS, Sender, no_clock
from onward.testing.program import build_program

JOURNAL = TopicPartition("journal", 0)
RAISED = "the journal has 3 partitions now, and had 1 .*: begin again with another --topic-prefix"


class Installation:
    """Ingest and processor of one worker."""

    def __init__(self, folder, broker=None):
        self.folder, self.broker, self.sender = folder, broker or MemoryBroker(), Sender()
        self.programs = {"loan": build_program(shards=3)}
        self.begin()

    def begin(self):
        """Start the worker anew."""
        self.metrics = Metrics()
        self.ingest = Ingest(Topics(), self.programs, self.broker, self.metrics, no_clock)
        config = ProcessorConfig(self.folder)
        self.processor = PartitionProcessor(Topics(), self.programs, self.broker, self.metrics, no_clock, config)

    async def work(self):
        """Read one application and one outcome, and fold the journal."""
        await self.ingest.assigned([TopicPartition("applications", 0)])
        person = {"region": "north", "income": 10.0, "debts": 4}
        application = self.sender.record("applications", Application("loan", "a", person), time_ms=START_MS, id="a")
        outcome = self.sender.record("outcomes", Outcome("loan", "a", "improved"), time_ms=START_MS, id="o")
        await self.ingest.handle([application])
        await self.ingest.handle([outcome])
        await self.processor.assigned([JOURNAL])
        await self.processor.handle(self.broker.logs[JOURNAL])


@pytest.mark.attack
def test_partitions_that_were_added_are_noticed_at_the_next_start_before_anything_is_written(tmp_path):
    async def go():
        there = Installation(tmp_path)
        await there.work()
        await there.processor.revoked([JOURNAL])
        there.broker.width = 3
        there.begin()
        before = {at: len(log) for at, log in there.broker.logs.items()}
        with pytest.raises(LedgerError, match=RAISED):
            await there.ingest.assigned([TopicPartition("applications", 0)])
        with pytest.raises(LedgerError, match=RAISED):
            await there.processor.assigned([JOURNAL])
        assert {at: len(log) for at, log in there.broker.logs.items() if log} == {
            at: count for at, count in before.items() if count
        }
        # One with an empty folder knows it from the journal alone.
        with pytest.raises(LedgerError, match=RAISED):
            await Installation(tmp_path / "other", there.broker).processor.assigned([JOURNAL])

    asyncio.run(go())


@pytest.mark.attack
def test_partitions_that_were_added_to_the_journal_of_an_earlier_version_are_noticed_by_the_ledger(tmp_path):
    async def go():
        there = Installation(tmp_path)
        await there.work()
        await there.processor.revoked([JOURNAL])
        there.broker.logs[JOURNAL] = [record._replace(headers=()) for record in there.broker.logs[JOURNAL]]
        there.broker.width = 3
        there.begin()
        with pytest.raises(LedgerError, match=RAISED):
            await there.processor.assigned([JOURNAL])

    asyncio.run(go())


@pytest.mark.attack
def test_a_running_worker_notices_too_and_goes_on_while_brokers_are_away(tmp_path):
    async def go():
        there = Installation(tmp_path)
        await there.processor.check_topics()
        await there.work()
        await there.processor.check_topics()
        there.broker.width = 3
        with pytest.raises(LedgerError, match=RAISED):
            await there.processor.check_topics()
        await there.processor.revoked([JOURNAL])

    asyncio.run(go())


class Narrower(MemoryBroker):
    """Its topic ``outcomes`` has no partition any more that was read."""

    async def partitions(self, topic):
        return 0 if topic == "outcomes" else self.width


@pytest.mark.attack
def test_an_input_that_was_made_again_with_fewer_partitions_is_refused(tmp_path):
    async def go():
        there = Installation(tmp_path)
        await there.work()
        await there.processor.revoked([JOURNAL])
        there.broker = Narrower(logs=there.broker.logs)
        there.begin()
        line = "topic outcomes has 0 partitions, but ledger .* has folded records of partition 0: it was made again"
        with pytest.raises(LedgerError, match=line):
            await there.processor.assigned([JOURNAL])

    asyncio.run(go())


@pytest.mark.attack
def test_a_running_worker_notices_an_input_that_was_made_again(tmp_path):
    async def go():
        there = Installation(tmp_path)
        await there.work()
        await there.processor.check_topics()
        there.broker.logs["outcomes", 0] = []
        with pytest.raises(LedgerError, match=r"topic outcomes partition 0 ends at offset 0, .* it was recreated"):
            await there.processor.check_topics()
        await there.processor.revoked([JOURNAL])

    asyncio.run(go())


def test_records_that_expired_are_counted(tmp_path, caplog):
    there = Installation(tmp_path)
    there.ingest.count_expired(TopicPartition("outcomes", 2), 5, 9)
    assert b'onward_expired_records_total{topic="outcomes"} 4.0' in there.metrics.expose()
    assert "outcomes partition 2: the records from offset 5 to 8 were deleted before they were read" in caplog.text
