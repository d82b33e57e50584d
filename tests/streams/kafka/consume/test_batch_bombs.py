"""Batches that unpack to far more than they are: each is one dead letter, and the records around it are read."""

from __future__ import annotations

import asyncio
import time

import msgspec
import pytest

from onward.schemas.events import Application, DeadLetter
from onward.streams.ingest.ingest import Ingest
from onward.streams.kafka.client import EventReader
from onward.streams.kafka.consume.batches import FetchedBatches, RestOfBatches, UnreadRecord
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.kafka.produce.publisher import KafkaPublisher
from onward.streams.metrics import Metrics
from onward.streams.topics import Topics, plan
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.testing.program import build_program
from onward.tests.support.bombs import SNAPPY_OF_4_GIB, SNAPPY_WITHOUT_END, batch_of, bomb, many_records
from onward.tests.support.kafka_handlers import Recorder, until, working
from onward.tests.support.raw_batches import COMPRESSIONS, NO_NAME, batch, message_set, send

NOW_MS = time.time_ns() // 1_000_000
GOOD = [(b"ce_id", b"1")]
LIMIT = 1 << 20
PACKED = [name for name in COMPRESSIONS if name != "none"]


async def read(options, topic, batches, count):
    """The records of a topic that holds these batches."""
    for one in batches:
        await send(options, topic, one)
    recorder = Recorder()
    async with working(options, {topic: recorder}):
        await until(lambda: len(recorder.records) >= count)
    return recorder.records


def good(name=b"good"):
    return batch([name], [GOOD], NOW_MS)


@pytest.mark.parametrize("compression", PACKED)
async def test_a_batch_over_the_limit_is_one_unread_record_between_its_neighbours(broker, compression):
    data = bomb(compression, 3 * LIMIT, NOW_MS)
    options = broker.options(max_batch_bytes=LIMIT)
    first, second, third = await read(options, broker.topic(), [good(b"0"), data, good(b"2")], 3)
    assert [first.value, second.value, third.value] == [b"0", None, b"2"]
    assert [first.unread, third.unread] == [None, None]
    assert (second.offset, second.unread.first_offset, second.timestamp_ms) == (1, 1, NOW_MS)
    assert (second.unread.reason, second.unread.size) == ("oversized_batch", len(data))
    assert f"more than the limit of {LIMIT} bytes" in second.unread.detail


@pytest.mark.parametrize("compression", PACKED)
async def test_a_batch_within_the_limit_is_read(broker, compression):
    options = broker.options(max_batch_bytes=2 * LIMIT)
    [record] = await read(options, broker.topic(), [bomb(compression, 2 * LIMIT - 100)], 1)
    assert record.value == bytes(2 * LIMIT - 100)


async def test_an_unread_batch_of_many_records_has_the_offsets_of_all(broker):
    options = broker.options(max_batch_bytes=LIMIT)
    records = await read(options, broker.topic(), [good(), many_records("gzip", 200_000), good()], 3)
    assert [record.offset for record in records] == [0, 200_000, 200_001]
    assert records[1].unread.first_offset == 1


@pytest.mark.parametrize(
    ("compression", "content"), [("zstd", b"garbage"), ("gzip", b""), ("lz4", b"garbage"), ("snappy", b"\xff" * 20)]
)
async def test_a_batch_that_cannot_be_unpacked_is_an_unread_record_too(embedded, compression, content):
    [record, _] = await read_raw(compression, content)
    assert record.unread.reason == "unreadable_batch"


@pytest.mark.parametrize(
    ("content", "reason"), [(SNAPPY_OF_4_GIB, "oversized_batch"), (SNAPPY_WITHOUT_END, "unreadable_batch")]
)
async def test_a_size_that_is_only_claimed_takes_no_memory_and_no_time(content, reason):
    [record, _] = await read_raw("snappy", content)
    assert record.unread.reason == reason


async def read_raw(compression, content):
    data = batch_of(compression, content, 1, NOW_MS)
    with EmbeddedBroker({"t": 1}) as broker:  # a real one unpacks before it accepts
        return await read(broker.options(), "t", [data, good()], 2)


@pytest.mark.parametrize("compression", ["none", "zstd"])
async def test_a_record_of_endless_headers_is_refused_before_they_are_read(compression):
    with EmbeddedBroker({"t": 1}) as broker:
        data = bomb(compression, 0, NOW_MS, headers=500_000)
        records = await read(broker.options(fetch_partition_bytes=4 << 20), "t", [data, good()], 2)
    assert [record.value for record in records] == [None, b"good"]
    assert records[0].unread.reason == "oversized_batch"
    assert "500000 headers" in records[0].unread.detail


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("compression", ["gzip", "snappy"])
def test_a_packed_message_set_of_old_clients_over_the_limit_is_unread(magic, compression):
    """No broker of the tests takes one."""
    time_ms = NOW_MS if magic else None
    sets = [message_set([b"0", b"1"], magic, time_ms, compression)]
    sets.append(message_set([bytes(LIMIT), bytes(LIMIT)], magic, time_ms, compression))
    batches = FetchedBatches(b"".join(sets))
    batches.limit = LIMIT
    read, unread = list(batches.next_batch()), list(batches.next_batch())
    assert [record.value for record in read] == [b"0", b"1"]
    assert [(record.value, record.unread.reason, record.unread.size) for record in unread] == [
        (None, "oversized_batch", len(sets[1]))
    ]


def test_a_bomb_in_the_rest_that_is_read_tolerantly_is_unread_too():
    """The embedded broker answers with one batch at a time."""
    batches = [batch([b"0"], [[(NO_NAME, b"x")]], NOW_MS), bomb("zstd", 3 * LIMIT), good()]
    rest = RestOfBatches(b"".join(batches), LIMIT, 0)
    records = [record for _ in batches for record in rest.next_batch()]
    assert [(record.value, isinstance(record, UnreadRecord)) for record in records] == [
        (b"0", False),
        (None, True),
        (b"good", False),
    ]


async def test_batches_within_the_limit_are_read_a_few_at_a_time(broker):
    """All of them would take as much memory as a bomb."""
    options, topic, size = broker.options(), broker.topic(), 12 << 20
    for _ in range(12):
        await send(options, topic, bomb("zstd", size))
    open_gate = asyncio.Event()
    recorder = Recorder(before=lambda _: open_gate.wait())
    async with working(options, {topic: recorder}) as worker:
        await until(lambda: recorder.in_progress)
        await asyncio.sleep(0.5)  # What could be read meanwhile is kept in chunks.
        open_gate.set()
        await until(lambda: worker.done() or len(recorder.records) == 12)
    assert max(len(chunk) for chunk in recorder.chunks) <= 2


async def test_the_offsets_of_an_unread_batch_become_one_dead_letter_and_its_neighbours_are_answered(broker, tmp_path):
    topics, programs, metrics = Topics(prefix=f"{broker.group}-"), {"loan": build_program()}, Metrics()
    broker.create(plan(topics, 1, 1))
    person = {"region": "north", "income": 1.0, "debts": 0}
    values = [msgspec.json.encode(Application("loan", f"p{number}", person)) for number in range(2)]
    options = broker.options(max_batch_bytes=LIMIT)
    data = many_records("zstd", 150_000, NOW_MS)
    for number, one in enumerate(
        [batch([values[0]], [[(b"ce_id", b"0")]], NOW_MS), data, batch([values[1]], [[(b"ce_id", b"1")]], NOW_MS)]
    ):
        await send(options, topics.applications, one)
        # What ends in the journal by another's hand is one dead letter too.
        if number == 1:
            await send(options, topics.journal, data)
    async with KafkaPublisher(options) as publisher:
        ingest = Ingest(topics, programs, publisher, metrics, lambda: NOW_MS)
        processor = PartitionProcessor(topics, programs, publisher, metrics, lambda: NOW_MS, ProcessorConfig(tmp_path))
        async with working(options, {topics.applications: ingest, topics.journal: processor}) as worker:
            found = []
            with EventReader(broker.options(), topics.outputs) as reader:
                while len(found) < 6 and not worker.done():
                    found += await asyncio.to_thread(reader.poll, 1.0)
    answers = [msgspec.json.decode(record.value)["application"] for record in found if record.topic == topics.recourse]
    letters = [
        msgspec.json.decode(record.value, type=DeadLetter) for record in found if record.topic == topics.dead_letters
    ]
    assert answers == ["p0", "p1"]
    assert [(letter.topic, letter.reason, letter.offset, letter.last_offset) for letter in letters] == [
        (topics.journal, "foreign_record", 0, 149_999),
        (topics.applications, "oversized_batch", 1, 150_000),
    ]
    assert {(letter.size, letter.value) for letter in letters} == {(len(data), None)}


async def test_the_tail_of_a_partition_is_read_past_a_bomb(broker):
    options, topic = broker.options(max_batch_bytes=LIMIT), broker.topic()
    for one in (good(b"0"), bomb("zstd", 3 * LIMIT), good(b"2")):
        await send(options, topic, one)
    async with KafkaPublisher(options) as publisher:
        tail = await publisher.tail(topic, 0, lambda record: record, 3)
    assert [(record.offset, record.value) for record in tail] == [(0, b"0"), (1, None), (2, b"2")]
