from __future__ import annotations

import asyncio
import time
import tracemalloc
import uuid

import aiokafka
import pytest
from aiokafka.errors import KafkaTimeoutError

from onward.streams.errors import BrokerError
from onward.streams.kafka.admin.topics import create_topics
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.kafka.produce.publisher import KafkaPublisher
from onward.streams.records import UNKNOWN_OFFSET, OutRecord, TopicPartition, record_bytes
from onward.streams.topics import TopicPlan
from onward.tests.support.kafka_handlers import read_all

NOW_MS = int(time.time() * 1000)
"""Kafka soon deletes records that are older than the retention."""


def out(topic, number, partition=0, size=0):
    return OutRecord(topic, partition, NOW_MS + number, b"k", b"%d" % number + b" " * size, (("n", b"1"),))


def number_of(record):
    return int(record.value)


async def test_records_keep_their_order_within_a_partition_over_many_batches(broker):
    topic = broker.topic(3)
    records = [out(topic, number, number % 3, size=100) for number in range(3000)]
    async with KafkaPublisher(broker.options(batch_bytes=4096)) as publisher:
        offsets, _ = await asyncio.gather(publisher.publish(records[:2000]), asyncio.sleep(0))
        offsets = [*offsets, *await publisher.publish(records[2000:])]
        ends = await publisher.end_offsets([TopicPartition(topic, partition) for partition in range(3)])
    assert ends == {TopicPartition(topic, partition): 1000 for partition in range(3)}
    found = read_all(broker.options(), topic)
    assert {number_of(record): record.offset for record in found} == dict(enumerate(offsets))
    for partition in range(3):
        values = [int(record.value) for record in found if record.partition == partition]
        assert values == list(range(partition, 3000, 3))
    assert found[0].timestamp_ms == NOW_MS + int(found[0].value)
    assert (found[0].key, list(found[0].headers)) == (b"k", [("n", b"1")])


async def test_the_offsets_of_a_batch_that_the_broker_has_forgotten_are_unknown(broker, monkeypatch):
    topic = broker.topic(2)
    async with KafkaPublisher(broker.options()) as publisher:
        await publisher.publish([out(topic, 0), out(topic, 1, 1)])
        send = publisher._producer.send_batch

        async def send_forgotten(batch, topic, *, partition):
            told = await send(batch, topic, partition=partition)
            if partition == 0:
                told = asyncio.ensure_future(asyncio.sleep(0, (await told)._replace(offset=-1)))
            return told

        monkeypatch.setattr(publisher._producer, "send_batch", send_forgotten)
        records = [out(topic, number, number % 2) for number in range(5)]
        assert await publisher.publish(records) == [UNKNOWN_OFFSET, 1, UNKNOWN_OFFSET, 2, UNKNOWN_OFFSET]


@pytest.mark.kafka
async def test_the_end_offset_of_a_missing_topic_is_an_error_that_names_it(real):
    there, gone = real.topic(1), uuid.uuid4().hex
    async with KafkaPublisher(real.options()) as publisher:
        with pytest.raises(BrokerError, match=rf"topics do not exist on .*: {gone}; create them first"):
            await publisher.end_offsets([TopicPartition(there, 0), TopicPartition(gone, 0)])


@pytest.mark.parametrize("compression", ["gzip", "lz4", "zstd"])
async def test_every_compression_is_read_back(broker, compression):
    topic = broker.topic()
    async with KafkaPublisher(broker.options(compression=compression)) as publisher:
        await publisher.publish([out(topic, number) for number in range(50)])
        assert await publisher.tail(topic, 0, number_of, 50) == list(range(50))


async def test_a_record_too_large_is_refused_before_anything_is_sent(broker):
    topic = broker.topic()
    long_headers = OutRecord(topic, 0, NOW_MS, b"k", b" " * 6000, (("n", b" " * 6000),))
    async with KafkaPublisher(broker.options(max_request_bytes=10_000)) as publisher:
        refusal = (
            f"a record of 10011 bytes for {topic} partition 0 is larger than the limit of 10000 bytes, which is fixed"
        )
        with pytest.raises(BrokerError, match=refusal):
            await publisher.publish([out(topic, 1), out(topic, 2, size=9997)])
        with pytest.raises(BrokerError, match=f"for {topic} partition 0 is larger than"):
            await publisher.publish([out(topic, 1), long_headers])
        await publisher.publish([out(topic, 3, size=9000)])
        assert await publisher.tail(topic, 0, number_of, 9) == [3]


@pytest.mark.kafka
async def test_a_record_that_the_broker_refuses_as_too_large_fails_the_publisher(real):
    topic = real.topic()
    async with KafkaPublisher(real.options(max_request_bytes=4 << 20)) as publisher:
        with pytest.raises(BrokerError, match=f"publishing 1 records to {topic} failed"):
            await publisher.publish([out(topic, 1, size=2 << 20)])


@pytest.mark.kafka
async def test_nothing_follows_a_refused_batch_even_if_it_is_the_first(real):
    topic = f"t-{uuid.uuid4().hex}"
    create_topics(real.options(), [TopicPlan(topic, 1, 1, {"max.message.bytes": "20000"})])
    records = [out(topic, 1, size=30_000), out(topic, 2, size=5_000)]
    async with KafkaPublisher(real.options(batch_bytes=31_000)) as publisher:
        with pytest.raises(BrokerError, match=f"publishing 2 records to {topic} failed"):
            await publisher.publish(records)
    assert read_all(real.options(), topic) == []


async def test_tail_returns_the_last_records_or_all_of_a_shorter_partition(broker):
    topic = broker.topic(2)
    async with KafkaPublisher(broker.options()) as publisher:
        assert await publisher.tail(topic, 0, number_of, 3) == []
        await publisher.publish([out(topic, number) for number in range(10)])
        assert await publisher.tail(topic, 0, number_of, 3) == [7, 8, 9]
        assert await publisher.tail(topic, 0, number_of) == [9]
        assert len(await publisher.tail(topic, 0, number_of, 99)) == 10
        assert await publisher.tail(topic, 1, number_of, 3) == []


async def test_records_from_an_offset_end_with_the_size_that_was_asked_for(broker):
    at, other = TopicPartition(broker.topic(2), 0), 1
    async with KafkaPublisher(broker.options()) as publisher:
        await publisher.publish([out(at.topic, number) for number in range(10)])
        records, end = await publisher.records_from(at, 2, 9, 1 << 20)
        assert ([number_of(record) for record in records], end) == ([2, 3, 4, 5, 6, 7, 8], 9)
        assert records[0].timestamp_ms == read_all(broker.options(), at.topic)[2].timestamp_ms
        records, end = await publisher.records_from(at, 2, 9, 2 * record_bytes(records[0]))
        assert ([record.offset for record in records], end) == ([2, 3], 4)
        assert await publisher.records_from(at, 4, 4, 1) == ([], 4)
        assert await publisher.records_from(TopicPartition(at.topic, other), 0, 0, 1) == ([], 0)
        with pytest.raises(BrokerError, match="holds offsets 0 to 10, not 4 to 11"):
            await publisher.records_from(at, 4, 11, 1)


async def test_tail_keeps_no_records_in_memory(broker):
    topic, size = broker.topic(), 100_000
    options = broker.options()
    async with KafkaPublisher(options) as publisher:
        await publisher.publish([out(topic, number, size=size) for number in range(45)])
        await publisher.tail(topic, 0, number_of)
        tracemalloc.start()
        try:
            assert await publisher.tail(topic, 0, number_of, 45) == list(range(45))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    most = options.fetch_partition_bytes if broker.is_real else options.batch_bytes
    assert peak < 5 * most


async def test_tail_may_take_any_time_while_records_arrive(broker):
    topic = broker.topic()
    async with KafkaPublisher(broker.options(batch_bytes=2000, request_timeout_ms=1000)) as publisher:
        await publisher.publish([out(topic, number, size=1000) for number in range(8)])

        def slowly(record):
            time.sleep(0.2)
            return number_of(record)

        assert await publisher.tail(topic, 0, slowly, 8) == list(range(8))


async def test_tail_fails_when_no_records_arrive_for_the_request_timeout(broker, monkeypatch):
    topic = broker.topic()
    async with KafkaPublisher(broker.options(request_timeout_ms=400)) as publisher:
        await publisher.publish([out(topic, 1)])

        async def nothing(*_, **__):
            await asyncio.sleep(0.1)
            return {}

        monkeypatch.setattr(aiokafka.AIOKafkaConsumer, "getmany", nothing)
        with pytest.raises(BrokerError, match=f"{topic} partition 0 cannot be read: TimeoutError"):
            await publisher.tail(topic, 0, number_of)


@pytest.mark.kafka
async def test_tail_reads_across_the_gaps_of_transactions(real):
    topic = real.topic()
    options = real.options()
    producer = aiokafka.AIOKafkaProducer(**options.aiokafka(), transactional_id=topic)
    async with producer:
        for number in range(4):
            async with producer.transaction():
                await producer.send_and_wait(topic, b"%d" % number, partition=0)
    async with KafkaPublisher(options) as publisher:
        assert await publisher.tail(topic, 0, number_of, 2) == [2, 3]
        assert await publisher.tail(topic, 0, number_of, 9) == [0, 1, 2, 3]


async def test_partitions_are_counted(broker):
    topic = broker.topic(3)
    async with KafkaPublisher(broker.options()) as publisher:
        assert await publisher.partitions(topic) == 3


@pytest.mark.kafka
async def test_a_topic_that_does_not_exist_is_named(real):
    async with KafkaPublisher(real.options(connect_timeout_ms=1000)) as publisher:
        with pytest.raises(BrokerError, match="topic nowhere does not exist"):
            await publisher.partitions("nowhere")


async def test_a_broker_that_stops_fails_the_publisher():
    with EmbeddedBroker({"t": 1}) as broker:
        publisher = KafkaPublisher(broker.options(delivery_timeout_ms=500), close_seconds=0.3)
        await publisher.start()
        await publisher.publish([out("t", 1)])
    with pytest.raises(BrokerError, match=r"publishing 1 records to t failed: not acknowledged within 0\.5 s"):
        await publisher.publish([out("t", 2)])
    with pytest.raises(BrokerError, match="publishing 1 records to t failed"):
        await publisher.publish([out("t", 3)])
    await publisher.close()


@pytest.mark.parametrize(
    ("work", "seconds"),
    [
        (lambda publisher, topic: publisher.end_offsets([TopicPartition(topic, 0)]), 60),
        (lambda publisher, topic: publisher.partitions(topic), 60),
        (lambda publisher, topic: publisher.tail(topic, 0, number_of), 60),
        (lambda publisher, topic: publisher.publish([out(topic, 1)]), 60),
    ],
    ids=["end offsets", "partitions", "tail", "publish"],
)
async def test_time_in_which_the_loop_was_held_is_not_silence_of_the_brokers(broker, held_loop, work, seconds):
    async with KafkaPublisher(broker.options()) as publisher:
        await held_loop.during(work(publisher, broker.topic()), seconds)


async def test_start_fails_when_no_broker_answers(unreachable):
    with pytest.raises(BrokerError, match="no Kafka broker answers"):
        await KafkaPublisher(unreachable).start()


async def test_a_failed_start_closes_the_connections(broker, monkeypatch):
    start, clients = aiokafka.AIOKafkaProducer.start, []

    async def start_and_fail(producer):
        await start(producer)
        clients.append(producer.client)
        assert any(connection.connected() for connection in producer.client._conns.values())
        raise KafkaTimeoutError

    monkeypatch.setattr(aiokafka.AIOKafkaProducer, "start", start_and_fail)
    with pytest.raises(KafkaTimeoutError):
        await KafkaPublisher(broker.options()).start()
    [client] = clients
    assert not any(connection.connected() for connection in client._conns.values())


async def test_a_batch_waits_for_its_place_when_aiokafka_gives_up_early(broker, monkeypatch):
    topic = broker.topic()
    async with KafkaPublisher(broker.options()) as publisher:
        send_batch = aiokafka.AIOKafkaProducer.send_batch
        refusals = iter([KafkaTimeoutError(), KafkaTimeoutError()])

        async def impatient(*batch, **place):
            for refusal in refusals:
                raise refusal
            return await send_batch(*batch, **place)

        monkeypatch.setattr(aiokafka.AIOKafkaProducer, "send_batch", impatient)
        await publisher.publish([out(topic, 1)])
    assert [int(record.value) for record in read_all(broker.options(), topic)] == [1]


@pytest.mark.kafka
async def test_the_beginning_of_a_partition_is_deleted_by_time_and_offset(real):
    at = TopicPartition(real.topic(1), 0)
    async with KafkaPublisher(real.options()) as publisher:
        assert await publisher.first_offset_since(at, 0) == 0
        for number in range(4):
            await publisher.publish([out(at.topic, number * 1000)])
        times = [await publisher.first_offset_since(at, NOW_MS + ms) for ms in (-1, 2000, 2001, 9000)]
        assert times == [0, 2, 3, 4]
        for cut in (2, 4):
            await publisher.delete_before(at, cut)
            assert await publisher.begin_offset(at) == cut
        assert await publisher.tail(*at, number_of) == []
        with pytest.raises(BrokerError, match="cannot be cut at offset 5"):
            await publisher.delete_before(at, 5)
