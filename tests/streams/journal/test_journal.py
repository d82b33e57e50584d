"""Packing and reading journal records."""

from __future__ import annotations

import json

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from onward.deploy.generate import schemas
from onward.schemas.events import Application, Outcome, SourcePosition, Tick
from onward.schemas.headers import CloudEvent
from onward.schemas.kinds import kinds
from onward.streams.journal.entries import JournalPosition
from onward.streams.journal.lines import (
    RECORD_BYTES,
    RECORD_LINES,
    line_of,
    pack_lines,
    read_entries,
    read_lines,
    tick_line,
)
from onward.streams.kafka.options import KafkaOptions
from onward.streams.records import Record, TopicPartition

SCHEMA = Draft202012Validator(json.loads((schemas.HERE / "json" / "journal.json").read_text()))


def line(number, padding=0, time_ms=None):
    body = Application("loan", f"x{number}", {"note": "n" * padding})
    record = Record("applications", 1, number, 1000 + number, None, b" " + msgspec.json.encode(body) + b"\n", ())
    return line_of(CloudEvent(f"id{number}", "portal", None, time_ms), kinds["application"], record, record.value)


def stored(packed):
    return [
        Record(out.topic, out.partition, at, out.timestamp_ms, out.key, out.value, out.headers)
        for at, out in enumerate(packed)
    ]


@given(st.lists(st.sampled_from([0, 10, RECORD_BYTES // 3, RECORD_BYTES + 1]), min_size=1, max_size=20))
def test_what_is_packed_is_read_in_order_whole_and_within_the_limits(paddings):
    records = stored(pack_lines("journal", 2, [line(number, padding) for number, padding in enumerate(paddings)]))
    entries = [entry for record in records for entry in read_entries(record)]
    assert [entry.id for entry in entries] == [f"id{number}" for number in range(len(paddings))]
    assert [entry.position for entry in entries] == [
        JournalPosition(record.offset, at) for record in records for at in range(len(read_entries(record)))
    ]
    for number, entry in enumerate(entries):
        assert (entry.source, entry.source_offset) == (TopicPartition("applications", 1), number)
        assert entry.timestamp_ms == entry.time_ms == 1000 + number
        body = msgspec.json.decode(entry.raw, type=Application)
        assert (body.program, body.application) == (entry.body.program, entry.body.application)
        assert body.features == msgspec.json.decode(entry.body.features)
    for record in records:
        assert len(read_entries(record)) == 1 or sum(len(entry.raw) for entry in read_entries(record)) <= RECORD_BYTES
        SCHEMA.validate(json.loads(record.value))


@given(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=1000))
@example("\N{GRINNING FACE}" * 1000)
def test_names_of_any_length_make_no_record_that_kafka_refuses(name):
    record = Record("decisions", 1, 0, 1000, None, b'{"program":"loan","application":"x","approved":false}', ())
    lines = [line_of(CloudEvent(name[:200], name, None, None), kinds["decision"], record, record.value)] * RECORD_LINES
    packed = list(pack_lines("journal", 0, lines))
    assert sum(len(read_entries(record)) for record in stored(packed)) == RECORD_LINES
    assert max(len(out.value) for out in packed) < KafkaOptions(brokers=("b:1",)).max_request_bytes / 2


def test_a_record_without_lines_is_foreign():
    [entry] = read_entries(Record("journal", 0, 7, 1000, None, b"[]", ()))
    assert (entry.position, entry.body.reason) == (JournalPosition(7, 0), "foreign_record")


def test_a_record_is_full_at_its_lines():
    assert [
        len(read_entries(record)) for record in stored(pack_lines("j", 0, map(line, range(2 * RECORD_LINES + 1))))
    ] == [
        RECORD_LINES,
        RECORD_LINES,
        1,
    ]


def test_a_tick_has_no_source():
    tick = Tick((SourcePosition("outcomes", 0, 5),))
    [record] = stored(pack_lines("j", 0, [tick_line(tick, 7)]))
    [entry] = read_entries(record)
    assert (entry.body, entry.source, entry.time_ms) == (tick, None, 7)


@given(st.binary() | st.builds(lambda kind: msgspec.json.encode([{"type": kind, "id": "1"}]), st.text()))
def test_anything_else_is_one_dead_letter(value):
    outcome = msgspec.json.encode(Outcome("loan", "x", "improved"))
    for content in (value, outcome, None):
        entries = read_entries(Record("journal", 0, 3, 5, None, content, ()))
        assert [entry.body.reason for entry in entries] in (["foreign_record"], [])
        assert entries or content == b"[]"


def test_the_lines_of_a_record_are_read_as_they_were_written_and_a_foreign_record_has_none():
    (record,) = stored(pack_lines("journal", 0, [line(1), line(2)]))
    assert [one.id for one in read_lines(record)] == ["id1", "id2"]
    assert read_lines(record._replace(value=b"[1]")) == ()
    assert read_lines(record._replace(value=None)) == ()
