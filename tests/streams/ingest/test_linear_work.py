"""The work on a record grows with its size alone, whatever stands in it."""

from __future__ import annotations

from time import process_time

import msgspec
import pytest

from onward.schemas.events import Answer, Application, Decision, Erasure, Model, Outcome, Round, Spec
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import kinds
from onward.schemas.normal_form import normal_form
from onward.streams.ingest.validation import RecordLimits, Validator
from onward.streams.records import Record
from onward.testing.pipeline import START_MS
from onward.testing.program import build_program

LIMIT = 262_144
FACTOR = 100
"""How many times as slow as a decoder of plain JSON: reading a mapping key by key takes Python that much."""
MARK = "mark"
KINDS = {
    "application": Application(MARK, "a", {MARK: "north"}, MARK),
    "decision": Decision("loan", MARK, approved=False),
    "answer": Answer("loan", "a", MARK),
    "outcome": Outcome("loan", MARK, "improved"),
    "model": Model("loan", "v2", MARK, "0" * 64),
    "spec": Spec("loan", {"program": MARK}, "0" * 64),
    "round": Round("loan", None, 100),  # type: ignore[arg-type]
    "erasure": Erasure("loan", application=MARK),
}
UNITS = (
    *('"', "\\", '\\"', "a", " ", "\t", "\n", "{", "}", "[", "]", ",", ":", "9", "-", ".", "e", "\0", "\x7f", "null,"),
    *(
        '"a":',
        '"a":1,',
        '"a":{',
        '{"a":[',
        '["',
        '"",',
        '"":"",',
        '"applicant":',
        '"applicant":null,',
        "NaN,",
        "[null],",
    ),
    *("\\u0301", "\\u0301\\u0316", "\\ud800", "\u0301", "\u0301\u0316", "\u0f73", "\\u0f73", "\uac00\u11a7", "\u202e"),
)


@pytest.fixture(scope="module")
def programs():
    return {"loan": build_program()}


def taken(work):
    began = process_time()
    work()
    return process_time() - began


def plain():
    """The CPU time of decoding numbers, of a record's largest size."""
    value = b"[" + b"1," * (LIMIT // 2 - 1) + b"1]"
    return min(taken(lambda: msgspec.json.decode(value)) for _ in range(3))


def texts(event):
    """The JSON of an event with a unit in each place many times, ended as JSON or not."""
    whole = msgspec.json.encode(event).decode()
    for unit in UNITS:
        pumped = unit * ((LIMIT - len(whole.encode())) // len(unit.encode()))
        for place in range(whole.count(MARK)):
            before, *after = whole.split(MARK)
            begin = MARK.join([before, *after][: place + 1])
            for end in (MARK.join(after[place:]), "", '"', '"' + MARK.join(after[place:])[1:]):
                yield (begin + pumped + end).encode()
        yield (whole[:-1] + "," + pumped).encode()
        yield (pumped + whole).encode()


@pytest.mark.attack
@pytest.mark.parametrize("kind", KINDS)
def test_no_record_takes_longer_than_its_size_allows(kind, programs):
    of_kind = kinds[kind]
    validator = Validator(of_kind, programs, RecordLimits())
    headers = cloud_event_headers("id", "test", of_kind.ce_type, START_MS)
    most = FACTOR * plain()
    for value in texts(KINDS[kind]):
        record = Record("any", 0, 0, START_MS, None, value[:LIMIT], headers)
        seconds = min(taken(lambda record=record: validator.validate(record, START_MS)) for _ in range(2))
        assert seconds < most, f"{value[:60]!r}: {seconds:.2f} s, not {most:.2f}"


@pytest.mark.attack
@pytest.mark.parametrize("name", ["ce_id", "ce_source", "ce_type", "ce_time", "ce_specversion", "other"])
def test_no_header_takes_longer_than_its_size_allows(name, programs):
    validator = Validator(kinds["application"], programs, RecordLimits())
    most = FACTOR * plain()
    for unit in ("2", "2026-11-21T08:49:00.", "\0", "\u0301", "\u0f73", "a", " "):
        content = (unit * LIMIT).encode()[:LIMIT]
        headers = [(key, value) for key, value in cloud_event_headers("1", "t", "t", START_MS) if key != name]
        record = Record("any", 0, 0, START_MS, None, b"{}", [*headers, (name, content)])
        assert min(taken(lambda record=record: validator.validate(record, START_MS)) for _ in range(2)) < most


@pytest.mark.attack
@pytest.mark.parametrize(
    "unit", ["\u0f73", "\u0f73\u0f75\u0f81", "\u0344\u0316", "\u0316\u0301", "a\u0301", "\u1e69\u0327"]
)
def test_no_text_takes_longer_to_normalise_than_its_length_allows(unit):
    text = "x" + unit * (LIMIT // len(unit.encode()))
    assert min(taken(lambda: normal_form(text)) for _ in range(3)) < FACTOR * plain()
