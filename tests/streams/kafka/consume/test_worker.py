from __future__ import annotations

import asyncio
import ctypes
import logging
import time

import aiokafka
import pytest

from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.consume import transport
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.records import TopicPartition
from onward.tests.support.kafka_handlers import Recorder, committed, until, working


async def test_chunks_are_contiguous_bounded_and_whole(broker):
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


async def test_records_that_queue_up_one_by_one_are_handed_on_together(broker):
    topic, go = broker.topic(), asyncio.Event()
    recorder = Recorder(first=lambda chunk: go.wait())
    async with working(broker.options(chunk_records=16), {topic: recorder}):
        broker.fill(topic, 1)
        await until(lambda: recorder.under_way)
        with EventWriter(broker.options()) as writer:
            for number in range(1, 41):
                writer.send(topic, b"%d" % number)
                writer.flush()
                await asyncio.sleep(0.005)
        await asyncio.sleep(0.2)
        go.set()
        await until(lambda: len(recorder.records) == 41)
    assert recorder.values == [b"%d" % number for number in range(41)]
    assert [len(chunk) for chunk in recorder.chunks] == [1, 16, 16, 8]


async def test_a_partition_that_waits_does_not_hold_up_another(broker):
    topic, go = broker.topic(2), asyncio.Event()

    async def wait(chunk):
        if chunk[0].partition == 0:
            await go.wait()

    recorder = Recorder(first=wait)
    async with working(broker.options(chunk_records=10), {topic: recorder}):
        for partition in (0, 1):
            broker.fill(topic, 30, partition=partition)
        await until(lambda: len(recorder.records) == 30)
        assert {record.partition for record in recorder.records} == {1}
        go.set()
        await until(lambda: len(recorder.records) == 60)
    assert [record.offset for record in recorder.records if record.partition == 0] == list(range(30))


async def test_a_handler_that_takes_partitions_together_gets_what_has_queued_up_in_all_of_them(broker):
    topic, go = broker.topic(3), asyncio.Event()
    recorder = Recorder(first=lambda chunk: go.wait(), together=True)
    async with working(broker.options(chunk_records=10), {topic: recorder}):
        broker.fill(topic, 1)
        await until(lambda: recorder.under_way)
        for partition in (1, 2):
            broker.fill(topic, 4, partition=partition)
        await asyncio.sleep(0.2)
        assert recorder.under_way == 1
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


async def test_a_restart_goes_on_behind_what_was_handled(broker):
    topic = broker.topic()
    first = broker.fill(topic, 10)
    before, after = Recorder(), Recorder()
    async with working(broker.options(), {topic: before}):
        await until(lambda: len(before.records) == 10)
    assert committed(broker.options(), topic) == 10
    second = broker.fill(topic, 5, start=10)
    async with working(broker.options(), {topic: after}):
        await until(lambda: len(after.records) >= 5)
    assert before.values == first
    assert after.values == second


async def test_the_handlers_offsets_win_over_the_groups(broker):
    topic = broker.topic(2)
    for partition in (0, 1):
        broker.fill(topic, 10, partition=partition)
    async with working(broker.options(), {topic: Recorder()}):
        await until(lambda: committed(broker.options(), topic) == committed(broker.options(), topic, 1) == 10)
    again = Recorder(starts={TopicPartition(topic, 0): 7})
    async with working(broker.options(), {topic: again}):
        await until(lambda: len(again.records) == 3)
        broker.fill(topic, 1, partition=1, start=10)
        await until(lambda: len(again.records) == 4)
    assert [(record.partition, record.offset) for record in again.records] == [(0, 7), (0, 8), (0, 9), (1, 10)]


async def test_two_topics_have_a_handler_each(broker):
    one, other = broker.topic(), broker.topic()
    expected = broker.fill(one, 5), broker.fill(other, 7, start=100)
    recorders = Recorder(), Recorder()
    async with working(broker.options(), {one: recorders[0], other: recorders[1]}):
        await until(lambda: [len(r.records) for r in recorders] == [5, 7])
    assert (recorders[0].values, recorders[1].values) == expected


async def test_lag_counts_what_is_not_handled_and_is_zero_for_empty_partitions(broker):
    topic = broker.topic(2)
    broker.fill(topic, 10)
    lags, go_on = [], asyncio.Event()

    async def wait(chunk):
        await go_on.wait()

    async def started(lag):
        lags.append(lag)

    async with working(broker.options(), {topic: Recorder(first=wait)}, on_started=started):
        await until(lambda: lags)
        [lag] = lags
        assert lag.lag(TopicPartition(topic, 0)) == 10
        assert lag.lag(TopicPartition(topic, 1)) == 0
        assert lag.lag(TopicPartition(topic, 7)) is None
        go_on.set()
        await until(lambda: lag.lag(TopicPartition(topic, 0)) == 0)
        broker.fill(topic, 3, partition=1)
        await until(lambda: lag.lag(TopicPartition(topic, 1)) == 0)


async def test_lag_is_not_known_while_the_broker_is_away(monkeypatch):
    monkeypatch.setattr(transport, "_SILENCE_MS", 400)
    lags = []

    async def started(lag):
        lags.append(lag)

    with EmbeddedBroker({"t": 2}) as broker:
        place = TopicPartition("t", 1)
        cluster, switch = ctypes.c_void_p(broker._cluster), broker._library
        async with working(broker.options(), {"t": Recorder()}, on_started=started):
            await until(lambda: lags)
            for _ in range(10):
                assert lags[0].lag(place) == 0
                await asyncio.sleep(0.1)
            switch.rd_kafka_mock_broker_set_down(cluster, 1)
            await until(lambda: lags[0].lag(place) is None, 2)
            await asyncio.sleep(0.5)
            assert lags[0].lag(place) is None
            switch.rd_kafka_mock_broker_set_up(cluster, 1)
            await until(lambda: lags[0].lag(place) == 0)


@pytest.mark.kafka
async def test_what_a_transaction_aborts_is_not_read_and_its_markers_are_no_lag(real):
    topic, lags, recorder = real.topic(2), [], Recorder()
    options = real.options()

    async def started(lag):
        lags.append(lag)

    async def transact(producer, *values, abort=False):
        await producer.begin_transaction()
        for value in values:
            await producer.send_and_wait(topic, value, partition=0)
        await (producer.abort_transaction() if abort else producer.commit_transaction())

    async with aiokafka.AIOKafkaProducer(**options.aiokafka(), transactional_id=topic) as producer:
        await transact(producer, b"0", b"1")
        async with working(options, {topic: recorder}, on_started=started):
            await transact(producer, b"never", abort=True)
            await transact(producer, b"2")
            await until(lambda: len(recorder.records) == 3)
            await until(lambda: lags[0].lag(TopicPartition(topic, 0)) == 0)
            await transact(producer, b"never", b"never", abort=True)
            await asyncio.sleep(0.3)
            await until(lambda: lags[0].lag(TopicPartition(topic, 0)) == 0)
    assert recorder.values == [b"0", b"1", b"2"]
    # Four markers and three aborted records.
    assert committed(options, topic) == 10


async def test_without_the_fast_path_all_else_holds(broker, monkeypatch, caplog):
    monkeypatch.setattr(transport, "missing_names", lambda: ["_drain_messages"])
    topic = broker.topic()
    values = broker.fill(topic, 20)
    recorder = Recorder(starts={TopicPartition(topic, 0): 5})
    async with working(broker.options(), {topic: recorder}):
        await until(lambda: len(recorder.records) == 15)
    assert recorder.values == values[5:]
    assert committed(broker.options(), topic) == 20
    assert "records are handed on one by one" in caplog.text


def test_changed_names_are_noticed():
    class Other:
        async def _drain_messages(self, fetcher, more):
            pass

        def _wait_next_records(self, timeout):
            pass

    assert transport.missing_names() == []
    assert transport.missing_names(Other) == ["_drain_messages", "_wait_next_records", "wait_first"]


async def test_nothing_is_written_to_the_streams_or_the_folder(broker, tmp_path, monkeypatch, capfd):
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
