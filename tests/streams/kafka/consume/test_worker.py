from __future__ import annotations

import asyncio
import logging
import time

from onward.streams.kafka.client import EventWriter
from onward.streams.records import Record, TopicPartition
from onward.tests.support.kafka_handlers import KeepLag, Recorder, committed, until, working


def queued_records(started):
    """Records in the worker's queues, without the chunk in progress."""
    return sum(len(chunk) for queue in started.lag._queues._queues.values() for chunk in queue)


async def test_a_chunk_holds_records_of_one_partition_in_order_and_within_the_limit(broker):
    topic = broker.topic(2)
    expected = {partition: broker.fill(topic, 250, partition=partition) for partition in (0, 1)}
    recorder = Recorder()
    async with working(broker.options(chunk_records=64), {topic: recorder}):
        await until(lambda: len(recorder.records) == 500)
    for partition, values in expected.items():
        chunks = [chunk for chunk in recorder.chunks if chunk[0].partition == partition]
        assert [record.value for chunk in chunks for record in chunk] == values
        assert [record.offset for chunk in chunks for record in chunk] == list(range(250))
        assert all({record.partition for record in chunk} == {partition} for chunk in chunks)
        assert max(map(len, chunks)) <= 64
    assert len(recorder.chunks) < 100


async def test_records_that_arrive_one_by_one_join_the_queued_chunk(broker):
    topic, go, started = broker.topic(), asyncio.Event(), KeepLag()
    recorder = Recorder(before=lambda chunk: go.wait())
    async with working(broker.options(chunk_records=16), {topic: recorder}, on_started=started):
        broker.fill(topic, 1)
        await until(lambda: recorder.in_progress)
        with EventWriter(broker.options()) as writer:
            for number in range(1, 41):
                writer.send(topic, b"%d" % number)
                writer.flush()
                await asyncio.sleep(0.005)
        await until(lambda: queued_records(started) == 40)
        go.set()
        await until(lambda: len(recorder.records) == 41)
    assert recorder.values == [b"%d" % number for number in range(41)]
    assert [len(chunk) for chunk in recorder.chunks] == [1, 16, 16, 8]


async def test_records_that_are_handed_over_are_handled_at_once_and_commit_nothing(broker):
    topic, started, recorder = broker.topic(), KeepLag(), Recorder()
    handed = [Record(topic, 0, offset, 0, None, b"handed", (), lines=()) for offset in (7, 8)]
    async with working(broker.options(), {topic: recorder}, on_started=started):
        await until(lambda: started.lag)
        started.lag.hand_over(handed)
        await until(lambda: recorder.records == handed)
        assert started.of(TopicPartition(topic, 0)) == 0, "nothing was read yet"
        values = broker.fill(topic, 3)
        await until(lambda: len(recorder.records) == 5)
    assert recorder.values[2:] == values
    assert committed(broker.options(), topic) == 3


async def test_nothing_is_handed_over_while_partitions_are_revoked(broker):
    topic, started, recorder = broker.topic(), KeepLag(), Recorder()
    async with working(broker.options(), {topic: recorder}, on_started=started):
        await until(lambda: started.lag)
        worker = started.lag
        worker.hand_over([Record(topic, 0, 0, 0, None, b"queued", (), lines=())])
        worker._consumer.stop_flow()
        worker.drop_queued()
        worker.hand_over([Record(topic, 0, 1, 0, None, b"late", (), lines=())])
        await until(worker.is_idle)
        worker._consumer.resume_flow()
    assert recorder.records == []


async def test_a_partition_in_progress_does_not_delay_another(broker):
    topic, go = broker.topic(2), asyncio.Event()

    async def wait(chunk):
        if chunk[0].partition == 0:
            await go.wait()

    recorder = Recorder(before=wait)
    async with working(broker.options(chunk_records=10), {topic: recorder}):
        for partition in (0, 1):
            broker.fill(topic, 30, partition=partition)
        await until(lambda: len(recorder.records) == 30)
        assert {record.partition for record in recorder.records} == {1}
        go.set()
        await until(lambda: len(recorder.records) == 60)
    assert [record.offset for record in recorder.records if record.partition == 0] == list(range(30))


async def test_a_handler_that_takes_partitions_together_gets_one_chunk_of_all_of_them(broker):
    topic, go, started = broker.topic(3), asyncio.Event(), KeepLag()
    recorder = Recorder(before=lambda chunk: go.wait(), together=True)
    async with working(broker.options(chunk_records=10), {topic: recorder}, on_started=started):
        broker.fill(topic, 1)
        await until(lambda: recorder.in_progress)
        for partition in (1, 2):
            broker.fill(topic, 4, partition=partition)
        await until(lambda: queued_records(started) == 8)
        assert recorder.in_progress == 1
        go.set()
        await until(lambda: len(recorder.records) == 9)
    assert [len(chunk) for chunk in recorder.chunks] == [1, 8]
    assert committed(broker.options(), topic, 1) == committed(broker.options(), topic, 2) == 4


async def test_records_arrive_as_sent(broker):
    topic, now = broker.topic(), int(time.time() * 1000)
    with EventWriter(broker.options()) as writer:
        writer.send(topic, b"\xff{", key=b"k", headers=[("ce_id", b"1"), ("ce_id", b"2")], timestamp_ms=now)
    recorder = Recorder()
    async with working(broker.options(), {topic: recorder}):
        await until(lambda: recorder.chunks)
    [record] = recorder.records
    assert (record.topic, record.partition, record.offset) == (topic, 0, 0)
    assert (record.timestamp_ms, record.key, record.value) == (now, b"k", b"\xff{")
    assert list(record.headers) == [("ce_id", b"1"), ("ce_id", b"2")]


async def test_each_topic_has_its_own_handler(broker):
    one, other = broker.topic(), broker.topic()
    expected = broker.fill(one, 5), broker.fill(other, 7, start=100)
    recorders = Recorder(), Recorder()
    async with working(broker.options(), {one: recorders[0], other: recorders[1]}):
        await until(lambda: [len(r.records) for r in recorders] == [5, 7])
    assert (recorders[0].values, recorders[1].values) == expected


async def test_a_worker_writes_nothing_to_stdout_stderr_or_its_folder(broker, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    level = logging.getLogger().level
    topic = broker.topic()
    values = broker.fill(topic, 3)
    recorder = Recorder()
    async with working(broker.options(), {topic: recorder}):
        await until(lambda: recorder.values == values)
        print("still ours")
    assert capfd.readouterr() == ("still ours\n", "")
    assert list(tmp_path.iterdir()) == []
    assert logging.getLogger().level == level
