"""A record that is sent again is new to the engine, once."""

from __future__ import annotations

import asyncio

import pytest

from onward.schemas.events import Application, DeadLetter
from onward.schemas.headers import CE_TIME, CloudEvent, format_time, read_headers
from onward.streams.journal.dead_letters import HEADER_BYTES, dead_letter_of_record
from onward.streams.outputs.emission import Emission, encode_event, records_of
from onward.streams.records import Record
from onward.streams.replay.dead_letters import FoundLetter, read_letter, retried_id
from onward.streams.topics import Topics
from onward.testing.pipeline import START_MS
from onward.testing.tape import DAY_MS, MINUTE_MS, POOR, TIMED, Tape, tape


def letters(story: Tape) -> list[FoundLetter]:
    found = (read_letter(record, story.run.topics) for record in story.run.broker.logs["dead-letters", 0])
    return [letter for letter in found if letter is not None]


def send_again(story: Tape, found: FoundLetter) -> None:
    own = found.letter
    offset = story.sender.sent[own.topic]
    story.sender.sent[own.topic] += 1
    record = Record(own.topic, 0, offset, START_MS + DAY_MS, own.key, own.value, found.headers_again())
    assert retried_id(record) == found.id
    asyncio.run(story.run.ingest([record]))


def test_an_event_that_was_given_up_is_applied_when_it_is_sent_again(tmp_path):
    story = tape(tmp_path, decisions="external", **TIMED)
    story.decides("late", 0)
    story.tick(DAY_MS)
    story.fold("first")
    [letter] = letters(story)
    assert (letter.id, letter.letter.reason) == ("decisions/0/0", "decision_without_application")
    assert (letter.program, letter.application, letter.time_ms) == ("loan", "late", START_MS)

    story.applies("late", 0)
    # The sender's own repeat is remembered as given up.
    story.decides("late", 0)
    story.fold("second")
    assert story.answers() == []

    for _ in range(2):
        send_again(story, letter)
    story.fold("third")
    assert [answer.application for answer in story.answers()] == ["late"]
    assert letters(story) == [letter]


@pytest.mark.parametrize("again", ["the sender's own repeat", "a second retry"])
def test_a_record_that_ingest_refused_counts_once(tmp_path, again):
    story = tape(tmp_path)
    bad = story.send("applications", Application("loan", "x", {**POOR, "region": "west"}), 0, "a-x")
    story.tick(MINUTE_MS)
    story.fold("first")
    [letter] = letters(story)
    # The cause is mended: here what the spec knows of regions.
    mended = letter._replace(
        letter=DeadLetter(**{**fields(letter.letter), "value": bad.value.replace(b"west", b"north")})
    )
    send_again(story, mended)
    if again == "a second retry":
        send_again(story, mended)
    else:
        story.applies("x", 0)
    story.fold("second")
    assert [answer.application for answer in story.answers()] == ["x"]
    assert {own.id for own in letters(story)} == {letter.id}


def fields(letter: DeadLetter) -> dict[str, object]:
    return {name: getattr(letter, name) for name in letter.__struct_fields__}


def found(record: Record, reason: str = "wrong_type", limit: int = 100) -> FoundLetter:
    letter = dead_letter_of_record(record, reason, "it is", limit)
    times_ms = record.timestamp_ms, record.timestamp_ms
    emission = Emission(0, 0, "dead-letter/x", "", "onward", None, *times_ms, DeadLetter, encode_event(letter))
    [out] = records_of([emission], Topics(), 0, b"1", b"17.0")
    read = read_letter(Record(out.topic, 0, 0, out.timestamp_ms, None, out.value, out.headers), Topics())
    assert read is not None
    return read


ID = [("ce_id", b"1")]


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        (Record("applications", 0, 3, START_MS, None, b"{}", ID), None),
        (Record("applications", 0, 3, START_MS, None, b"x" * 1000, ID), "of its 1,000 bytes only 100 were kept"),
        (Record("applications", 0, 3, START_MS, None, None, ID), "it had no value"),
        (Record("applications", 0, 3, START_MS, None, b"{}", []), "ce_id: missing"),
        (Record("applications", 0, 3, START_MS, None, b"{}", [*ID, *ID]), "ce_id: given more than once"),
        (Record("journal", 0, 3, START_MS, None, b"{}", ID), "it was read from journal, which is no input"),
    ],
)
def test_what_cannot_be_sent_again_is_told(record, fault):
    assert found(record).fault == fault


def test_the_headers_of_the_sender_stay_and_the_event_time_is_named():
    sent = [*ID, ("trace", b"7"), ("onward_retry", b"applications/0/1")]
    letter = found(Record("applications", 0, 3, START_MS, b"key", b"{}", sent))
    own = dict(letter.headers_again())
    assert (own["trace"], own["onward_retry"]) == (b"7", b"applications/0/3")
    assert len(letter.headers_again()) == 4
    event = read_headers(letter.headers_again())
    assert isinstance(event, CloudEvent)
    assert (event.id, event.time_ms) == ("1", START_MS)
    given = found(Record("applications", 0, 3, START_MS, None, b"{}", [*ID, (CE_TIME, b"2026-01-01T00:00:00Z")]))
    assert dict(given.headers_again())[CE_TIME] == b"2026-01-01T00:00:00Z"
    assert (format_time(given.time_ms), given.sent_ms) == ("2026-01-01T00:00:00.000Z", START_MS)
    assert dict(given.headers_again(START_MS))[CE_TIME] == format_time(START_MS).encode()


def test_a_record_with_very_many_headers_keeps_those_that_matter():
    many = [(f"h{number}", b"x" * 100) for number in range(HEADER_BYTES // 100)]
    assert found(Record("applications", 0, 3, START_MS, None, b"{}", [*many, *ID])).fault is None
