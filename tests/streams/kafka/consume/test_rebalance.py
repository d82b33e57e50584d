from __future__ import annotations

import asyncio

import pytest

from onward.streams.errors import LedgerError
from onward.streams.kafka.consume.worker import run_worker
from onward.streams.records import TopicPartition
from onward.tests.support.kafka_handlers import Recorder, until, working


@pytest.mark.kafka
async def test_partitions_move_when_a_worker_joins_and_leaves(real):
    broker, topic = real, real.topic(4)
    partitions = {TopicPartition(topic, partition) for partition in range(4)}
    stay, leave = Recorder(), Recorder()
    async with working(broker.options(), {topic: stay}):
        await until(lambda: stay.owned == partitions)
        async with working(broker.options(), {topic: leave}):
            await until(lambda: len(stay.owned) == len(leave.owned) == 2 and stay.owned | leave.owned == partitions)
            for partition in range(4):
                broker.fill(topic, 10, partition=partition)
            await until(lambda: len(stay.records) + len(leave.records) == 40)
        await until(lambda: stay.owned == partitions)
        for partition in range(4):
            broker.fill(topic, 10, partition=partition, start=10)
        await until(lambda: len(stay.records) + len(leave.records) == 80)
    seen = sorted((record.partition, record.offset) for record in stay.records + leave.records)
    assert seen == [(partition, offset) for partition in range(4) for offset in range(20)]


@pytest.mark.kafka
@pytest.mark.parametrize("together", [False, True])
async def test_queued_records_of_partitions_that_move_are_processed_once(real, together):
    async def slowly(chunk):
        await asyncio.sleep(0.05)

    topic, options = real.topic(4), real.options(chunk_records=5, heartbeat_ms=300)
    one, other = Recorder(before=slowly, together=together), Recorder(before=slowly, together=together)
    async with working(options, {topic: one}):
        await until(lambda: len(one.owned) == 4)
        for partition in range(4):
            real.fill(topic, 200, partition=partition)
        await until(lambda: len(one.records) > 20)
        async with working(options, {topic: other}):
            await until(lambda: len(one.records) + len(other.records) >= 800)
    assert one.records
    assert other.records
    for partition in range(4):
        seen = [record.offset for record in one.records + other.records if record.partition == partition]
        assert seen == list(range(200))


@pytest.mark.kafka
async def test_partitions_revoked_during_assigned_are_assigned_again(real):
    class Slow(Recorder):
        cancelled = 0

        async def assigned(self, partitions):
            starts = await super().assigned(partitions)
            if not self.cancelled:
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    self.cancelled += 1
                    raise
            return starts

    topic, first, second = real.topic(2), Slow(), Recorder()
    async with working(real.options(heartbeat_ms=300), {topic: first}):
        await until(lambda: len(first.owned) == 2)
        async with working(real.options(), {topic: second}):
            await until(lambda: len(first.owned) == len(second.owned) == 1)
            for partition in range(2):
                real.fill(topic, 10, partition=partition)
            await until(lambda: len(first.records) == len(second.records) == 10)
    assert first.cancelled == 1


@pytest.mark.kafka
async def test_an_error_in_a_later_rebalance_ends_the_worker_with_one_log_line(real, caplog):
    class RefusingTheSecond(Recorder):
        async def assigned(self, partitions):
            if self.asked:
                raise LedgerError("state/journal-0.db is corrupt")
            self.asked = True
            return await super().assigned(partitions)

    topic, recorder = real.topic(2), RefusingTheSecond()
    recorder.asked = False
    worker = asyncio.create_task(run_worker(real.options(heartbeat_ms=300), {topic: recorder}, signals=False))
    await until(lambda: recorder.owned)
    async with working(real.options(), {topic: Recorder()}):
        with pytest.raises(LedgerError, match="is corrupt"):
            await worker
    assert [line.getMessage() for line in caplog.records if line.name.startswith(("onward", "faust", "mode"))] == [
        "the worker ends: state/journal-0.db is corrupt"
    ]
