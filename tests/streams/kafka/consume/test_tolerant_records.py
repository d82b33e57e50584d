"""Records of clients in any language are read: none stops a worker, none is lost or read twice."""

from __future__ import annotations

import asyncio
import time

import msgspec
import pytest

from onward.schemas.events import Application, DeadLetter
from onward.streams.ingest.ingest import Ingest
from onward.streams.kafka.client import EventReader
from onward.streams.kafka.embedded import EmbeddedBroker
from onward.streams.kafka.produce.publisher import KafkaPublisher
from onward.streams.metrics import Metrics
from onward.streams.topics import Topics, plan
from onward.streams.worker.partition_processor import PartitionProcessor, ProcessorConfig
from onward.testing.program import build_program
from onward.tests.support.kafka_handlers import Recorder, until, working
from onward.tests.support.raw_batches import COMPRESSIONS, NO_NAME, batch, message_set, send

NOW_MS = time.time_ns() // 1_000_000
GOOD = [(b"ce_id", b"1"), (b"other", None)]
BAD = [(b"ce_id", b"1"), (NO_NAME, b"x"), (b"last", None)]


async def read(broker, topics, count):
    with EventReader(broker.options(), topics) as reader:
        records = []
        while len(records) < count:
            records += await asyncio.to_thread(reader.poll, 10.0)
    return records


def read_as(headers):
    return [] if headers is BAD else [(name.decode(), content) for name, content in headers]


@pytest.mark.parametrize("compression", COMPRESSIONS)
async def test_a_record_with_a_header_name_that_is_not_utf8_comes_without_headers(broker, compression):
    topic = broker.topic(2)
    batches = [[GOOD, GOOD], [GOOD, BAD, GOOD, BAD, BAD], [BAD], [GOOD], [BAD, GOOD]]
    sent = [(b"%d" % number, headers) for number, headers in enumerate(h for one in batches for h in one)]
    rest = iter(sent)
    for one in batches:
        values = [next(rest)[0] for _ in one]
        await send(broker.options(), topic, batch(values, one, NOW_MS, compression))
    await send(broker.options(), topic, batch([b"neighbour"], [GOOD], NOW_MS), partition=1)
    recorder = Recorder()
    async with working(broker.options(), {topic: recorder}):
        await until(lambda: len(recorder.records) >= len(sent) + 1)
        await send(broker.options(), topic, batch([b"after"], [GOOD], NOW_MS, compression))
        await until(lambda: recorder.values[-1] == b"after")
    records = [record for record in recorder.records if record.partition == 0]
    assert [record.offset for record in records] == list(range(len(sent) + 1))
    assert [(r.value, list(r.headers)) for r in records[:-1]] == [(value, read_as(h)) for value, h in sent]
    assert {(record.key, record.timestamp_ms) for record in records} == {(b"key", NOW_MS)}
    assert sum(record.partition for record in recorder.records) == 1


async def test_any_timestamp_is_read(broker):
    topic = broker.topic()
    times = [-1, -5, -(1 << 62), 0]
    for time_ms in times:
        await send(broker.options(), topic, batch([b"v"], [GOOD], time_ms))
    recorder = Recorder()
    async with working(broker.options(), {topic: recorder}):
        await until(lambda: len(recorder.records) == len(times))
    assert [record.timestamp_ms for record in recorder.records] == times


async def test_message_sets_of_old_clients_are_read():
    with EmbeddedBroker({"t": 1}) as broker:  # today's Kafka takes none
        for magic, time_ms in ((0, None), (1, NOW_MS)):
            await send(broker.options(), "t", message_set([b"0", b"1"], magic, time_ms))
        await send(broker.options(), "t", batch([b"0", b"1"], [GOOD, BAD], NOW_MS))
        recorder = Recorder()
        async with working(broker.options(), {"t": recorder}):
            await until(lambda: len(recorder.records) == 6)
    assert [(record.offset, record.timestamp_ms, len(record.headers)) for record in recorder.records] == [
        (0, -1, 0),
        (1, -1, 0),
        (2, NOW_MS, 0),
        (3, NOW_MS, 0),
        (4, NOW_MS, 2),
        (5, NOW_MS, 0),
    ]


async def test_such_a_record_becomes_a_dead_letter_and_its_neighbours_are_answered(broker, tmp_path):
    topics, programs, metrics = Topics(prefix=f"{broker.group}-"), {"loan": build_program()}, Metrics()
    broker.create(plan(topics, 1, 1))
    person = {"region": "north", "income": 1.0, "debts": 0}
    values = [msgspec.json.encode(Application("loan", f"p{number}", person)) for number in range(3)]
    headers = [[(b"ce_id", b"%d" % number)] for number in range(3)]
    headers[1].append((NO_NAME, b"x"))
    await send(broker.options(), topics.applications, batch(values, headers, NOW_MS))
    async with KafkaPublisher(broker.options()) as publisher:
        ingest = Ingest(topics, programs, publisher, metrics, lambda: NOW_MS)
        processor = PartitionProcessor(topics, programs, publisher, metrics, lambda: NOW_MS, ProcessorConfig(tmp_path))
        async with working(broker.options(), {topics.applications: ingest, topics.journal: processor}):
            found = await read(broker, topics.outputs, 3)
    answers = [msgspec.json.decode(record.value)["application"] for record in found if record.topic == topics.recourse]
    [letter] = [
        msgspec.json.decode(record.value, type=DeadLetter) for record in found if record.topic == topics.dead_letters
    ]
    assert answers == ["p0", "p2"]
    assert (letter.reason, letter.topic, letter.offset, letter.value) == (
        "missing_header",
        topics.applications,
        1,
        values[1],
    )


async def test_tail_and_event_reader_return_such_a_record_too(broker):
    topic = broker.topic()
    await send(broker.options(), topic, batch([b"0", b"1", b"2"], [GOOD, BAD, GOOD], NOW_MS))
    async with KafkaPublisher(broker.options()) as publisher:
        tail = await publisher.tail(topic, 0, lambda record: record, 2)
    assert [(record.offset, record.value, list(record.headers)) for record in tail] == [
        (1, b"1", []),
        (2, b"2", read_as(GOOD)),
    ]
    records = await read(broker, [topic], 3)
    assert [(record.value, dict(record.headers)) for record in records] == [
        (b"0", {"ce_id": b"1", "other": b""}),
        (b"1", {}),
        (b"2", {"ce_id": b"1", "other": b""}),
    ]
