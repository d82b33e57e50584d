from __future__ import annotations

import asyncio
import ctypes

import aiokafka
import pytest

from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.records import TopicPartition
from onward.tests.support.kafka_handlers import KeepLag, Recorder, committed, until, working


async def test_a_restart_continues_after_the_processed_records(broker):
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


async def test_start_offsets_of_the_handler_replace_those_of_the_group(broker):
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


async def test_lag_counts_unprocessed_records_and_is_zero_for_empty_partitions(broker):
    topic = broker.topic(2)
    broker.fill(topic, 10)
    lag, go_on = KeepLag(), asyncio.Event()
    first, second, absent = (TopicPartition(topic, partition) for partition in (0, 1, 7))
    async with working(broker.options(), {topic: Recorder(before=lambda chunk: go_on.wait())}, on_started=lag):
        await until(lambda: lag.lag)
        assert (lag.of(first), lag.of(second), lag.of(absent)) == (10, 0, None)
        go_on.set()
        await until(lambda: lag.of(first) == 0)


async def test_lag_is_unknown_while_the_broker_is_down():
    lag, partition = KeepLag(), TopicPartition("t", 1)

    def age_begins():
        return lag.lag._consumer._thread.end_offset(partition)

    with EmbeddedBroker({"t": 2}) as broker:
        options = broker.options(max_end_offset_age_ms=400)
        async with working(options, {"t": Recorder()}, on_started=lag):
            await until(lambda: lag.lag and age_begins())
            first = age_begins().time_ms
            await until(lambda: age_begins().time_ms > first + 400)
            await until(lambda: lag.of(partition) == 0)
            broker._library.rd_kafka_mock_broker_set_down(ctypes.c_void_p(broker._cluster), 1)
            await until(lambda: lag.of(partition) is None)
            await asyncio.sleep(0.2)
            assert lag.of(partition) is None
            broker._library.rd_kafka_mock_broker_set_up(ctypes.c_void_p(broker._cluster), 1)
            await until(lambda: lag.of(partition) == 0)


@pytest.mark.kafka
async def test_aborted_records_are_not_read_and_transaction_markers_add_no_lag(real):
    topic, lag, recorder = real.topic(2), KeepLag(), Recorder()
    options, partition = real.options(), TopicPartition(topic, 0)

    async def transact(producer, *values, abort=False):
        await producer.begin_transaction()
        for value in values:
            await producer.send_and_wait(topic, value, partition=0)
        await (producer.abort_transaction() if abort else producer.commit_transaction())

    async with aiokafka.AIOKafkaProducer(**options.aiokafka(), transactional_id=topic) as producer:
        await transact(producer, b"0", b"1")
        async with working(options, {topic: recorder}, on_started=lag):
            await transact(producer, b"never", abort=True)
            await transact(producer, b"2")
            await until(lambda: len(recorder.records) == 3)
            await until(lambda: lag.of(partition) == 0)
            await transact(producer, b"never", b"never", abort=True)
            await asyncio.sleep(0.3)
            await until(lambda: lag.of(partition) == 0)
    assert recorder.values == [b"0", b"1", b"2"]
    assert committed(options, topic) == 10, "with four markers and three aborted records"
