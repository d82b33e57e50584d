"""How a worker ends: by a signal, by an error, or without a broker."""

from __future__ import annotations

import asyncio
import os
import signal
import socket

import aiokafka
import confluent_kafka
import pytest
from faust.types import TP

from onward.streams.errors import BrokerError, LedgerError
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.consume.offset_tracker import start_after_ledger
from onward.streams.kafka.consume.tail import tail
from onward.streams.kafka.consume.worker import _Worker, run_worker
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.kafka.options import KafkaOptions
from onward.streams.records import TopicPartition
from onward.streams.worker.lease import Lease
from onward.tests.support.kafka_handlers import Recorder, committed, until, working


async def test_chunks_queued_behind_a_failed_chunk_do_not_start(broker):
    topic = broker.topic(2)

    refused = asyncio.Event()

    async def refuse(chunk):
        if chunk[0].partition == 0:
            await until(lambda: recorder.in_progress == 2)
            refused.set()
            raise LedgerError("the disk is full")
        await refused.wait()

    recorder = Recorder(before=refuse)
    for partition in (0, 1):
        broker.fill(topic, 30, partition=partition)
    with pytest.raises(LedgerError, match="the disk is full"):
        await run_worker(broker.options(chunk_records=10), {topic: recorder}, signals=False)
    assert len(recorder.chunks) <= 1, "at most the chunk in progress"
    assert not recorder.owned
    assert committed(broker.options(), topic) == confluent_kafka.OFFSET_INVALID


async def test_a_handler_that_is_cancelled_ends_the_worker(broker):
    topic = broker.topic()
    broker.fill(topic, 3)

    async def cancelled(chunk):
        if chunk[0].offset == 0:
            raise asyncio.CancelledError

    recorder = Recorder(before=cancelled)
    with pytest.raises(BrokerError, match="given up half-way"):
        await run_worker(broker.options(chunk_records=1), {topic: recorder}, signals=False)
    assert not recorder.records
    assert committed(broker.options(), topic) == confluent_kafka.OFFSET_INVALID


async def test_a_rebalance_while_the_worker_ends_waits_for_the_chunk_in_progress(broker, monkeypatch):
    topic, go, stop = broker.topic(), asyncio.Event(), asyncio.Event()
    recorder = Recorder(before=lambda chunk: go.wait())
    worker = _Worker(broker.options(), {topic: recorder}, stop, Lease(0.9, 60.0), None)
    running = asyncio.create_task(worker.run([], None, 20.0))
    await until(lambda: recorder.owned)
    broker.fill(topic, 1)
    await until(lambda: recorder.in_progress)
    stop.set()
    await until(lambda: worker._app.should_stop)
    consumer = worker._app.consumer
    # Faust marks the consumer as closed here, and its connections would be left to the end of the process.
    monkeypatch.setattr(worker._app, "_on_rebalance_when_stopped", lambda: None)
    worker._app.on_rebalance_start()
    revoking = asyncio.create_task(consumer.on_partitions_revoked(consumer.assignment()))
    await asyncio.sleep(0.1)
    assert recorder.owned, "the chunk in progress keeps its partition"
    go.set()
    await revoking
    await running
    assert not recorder.owned
    assert committed(broker.options(), topic) == 1


async def test_a_ledger_beyond_the_end_of_its_partition_is_refused(broker):
    topic = broker.topic()
    broker.fill(topic, 10)
    with pytest.raises(LedgerError, match="ends at offset 10, and the ledger stands at 11"):
        await run_worker(broker.options(), {topic: Recorder({TopicPartition(topic, 0): 11})}, signals=False)


def test_a_journal_that_was_cut_behind_a_lost_or_old_ledger_says_what_to_do():
    for start, stands in ((0, "there is neither a ledger nor a snapshot of it"), (4, "the ledger stands at 4")):
        with pytest.raises(LedgerError, match=f"begins at offset 7, and {stands}: .* gone; give --state-dir or"):
            start_after_ledger(TP("journal", 0), start, 7, 10)
    assert start_after_ledger(TP("journal", 0), 7, 7, 10) == 7


async def test_records_that_expired_unread_are_told_once_with_their_offsets_and_reading_goes_on():
    """The embedded broker keeps 5 MB of a partition."""
    told = []
    with EmbeddedBroker({"t": 1}) as broker:
        options = broker.options(group="g", commit_interval_ms=100)

        def write(count):
            with EventWriter(options) as writer:
                for _ in range(count):
                    writer.send("t", b"x" * 700_000)
                    writer.flush()

        async def read(until_offset):
            recorder, stop = Recorder(), asyncio.Event()
            running = asyncio.create_task(
                run_worker(options, {"t": recorder}, stop=stop, signals=False, on_expired=lambda *one: told.append(one))
            )
            await until(lambda: any(record.offset == until_offset for record in recorder.records))
            stop.set()
            await running
            return [record.offset for record in recorder.records]

        write(2)
        assert await read(1) == [0, 1]
        assert told == []
        write(10)
        read_later = await read(11)
    [(partition, first, end)] = told
    assert (partition, first, end) == (TopicPartition("t", 0), 2, read_later[0])
    assert read_later[0] > 2


async def test_an_error_of_a_handler_ends_the_worker_and_commits_nothing_of_its_chunk(broker):
    topic = broker.topic()
    broker.fill(topic, 10)

    async def refuse(chunk):
        if chunk[-1].offset >= 4:
            raise LedgerError("the disk is full")

    recorder = Recorder(before=refuse)
    with pytest.raises(LedgerError, match="the disk is full"):
        await run_worker(broker.options(chunk_records=4), {topic: recorder}, signals=False)
    assert not recorder.owned
    handled = len(recorder.records)
    assert handled <= 4
    assert committed(broker.options(), topic) in ((handled,) if handled else (confluent_kafka.OFFSET_INVALID,))
    after = Recorder()
    async with working(broker.options(), {topic: after}):
        await until(lambda: handled + len(after.records) == 10)
    assert after.records[0].offset == handled


async def test_an_error_in_assigned_ends_the_worker_with_one_log_line(broker, caplog):
    class Refusing(Recorder):
        async def assigned(self, partitions):
            raise LedgerError("state/journal-0.db is corrupt")

    topic = broker.topic()
    broker.fill(topic, 1)
    recorder = Refusing()
    with pytest.raises(LedgerError, match="is corrupt"):
        await run_worker(broker.options(), {topic: recorder}, signals=False)
    assert not recorder.chunks
    assert [line.getMessage() for line in caplog.records if line.name.startswith(("onward", "faust", "mode"))] == [
        "the worker ends: state/journal-0.db is corrupt"
    ]


async def test_sigterm_finishes_the_chunk_in_progress_and_commits_it(broker):
    topic = broker.topic()
    broker.fill(topic, 100)
    started = asyncio.Event()

    async def slowly(chunk):
        started.set()
        await asyncio.sleep(0.2)

    recorder = Recorder(before=slowly)
    worker = asyncio.create_task(run_worker(broker.options(chunk_records=10), {topic: recorder}))
    await started.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    await worker
    assert 0 < len(recorder.records) < 100
    assert committed(broker.options(), topic) == len(recorder.records)
    assert not recorder.owned


async def test_a_chunk_that_outlasts_the_stop_is_cancelled_and_its_partition_released(broker, caplog):
    topic = broker.topic()
    recorder = Recorder(before=lambda chunk: asyncio.sleep(60))
    async with working(broker.options(), {topic: recorder}, stop_seconds=0.2):
        await until(lambda: recorder.owned)
        broker.fill(topic, 1)
        await until(lambda: recorder.in_progress)
    assert not recorder.owned
    assert not recorder.records
    assert "given up: it will be read again" in caplog.text
    assert committed(broker.options(), topic) == confluent_kafka.OFFSET_INVALID


async def test_timers_run_and_their_errors_end_the_worker(broker):
    ticks = []

    async def tick():
        ticks.append(1)
        if len(ticks) == 3:
            raise LedgerError("tick")

    with pytest.raises(LedgerError, match="tick"):
        await run_worker(broker.options(), {broker.topic(): Recorder()}, timers=[(0.01, tick)], signals=False)
    assert len(ticks) == 3


async def test_connections_are_closed_when_a_fetch_is_cancelled_before_it_starts(broker, monkeypatch):
    topic, stop, clients = broker.topic(), asyncio.Event(), []
    broker.fill(topic, 3)
    stop_consumer = aiokafka.AIOKafkaConsumer.stop

    async def stop_while_fetching(consumer):
        clients.append(consumer._client)
        consumer._fetcher._pending_tasks.add(asyncio.ensure_future(asyncio.sleep(60)))
        await stop_consumer(consumer)

    monkeypatch.setattr(aiokafka.AIOKafkaConsumer, "stop", stop_while_fetching)
    recorder = Recorder()
    running = asyncio.create_task(run_worker(broker.options(), {topic: recorder}, stop=stop, signals=False))
    assert len(await tail(broker.options(), TopicPartition(topic, 0), lambda record: record, 3)) == 3
    await until(lambda: recorder.chunks)
    stop.set()
    await running
    assert len(clients) == 2
    assert not any(connection.connected() for client in clients for connection in client._conns.values())


async def test_an_unreachable_broker_is_one_line_within_the_connect_timeout(unreachable):
    with pytest.raises(BrokerError, match=f"no Kafka broker answers at {unreachable.bootstrap} within 0.6 s") as caught:
        await run_worker(unreachable, {"t": Recorder()}, signals=False)
    assert "\n" not in str(caught.value)


async def test_a_silent_broker_is_an_unreachable_one():
    with socket.create_server(("127.0.0.1", 0)) as server:
        options = KafkaOptions(brokers=(f"127.0.0.1:{server.getsockname()[1]}",), connect_timeout_ms=600)
        with pytest.raises(BrokerError, match=r"within 0\.6 s"):
            await run_worker(options, {"t": Recorder()}, signals=False)


@pytest.mark.kafka
async def test_a_missing_topic_is_named(real):
    with pytest.raises(BrokerError, match=r"topics do not exist on .*: nowhere; create them first"):
        await run_worker(real.options(), {"nowhere": Recorder(), real.topic(): Recorder()}, signals=False)


async def test_a_worker_whose_broker_is_down_still_stops():
    recorder, stop = Recorder(), asyncio.Event()
    with EmbeddedBroker({"t": 2}) as gone:
        worker = asyncio.create_task(run_worker(gone.options(), {"t": recorder}, stop=stop))
        await until(lambda: recorder.owned)
    await asyncio.sleep(0.2)
    assert not worker.done()
    stop.set()
    await worker
    assert not recorder.owned
