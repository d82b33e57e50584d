"""Two programs, and events of theirs as outside systems send them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from fuzz_inputs import FIELD, RECORD, TOPICS, VALUE, written
from msgspec import Struct

from onward.schemas.events import Acted, Answer, Application, Decision, Erasure, Model, Outcome, Round, Spec
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type, kinds
from onward.schemas.spec_document import document
from onward.testing.pipeline import START_MS
from onward.testing.program import build_program

PERSON = {"region": "north", "income": 10.0, "debts": 4}
PROGRAMS = {
    "loan": build_program(shards=2),
    "credit": build_program("credit", window={"time": "PT1H"}, decisions="external", shards=5),
}
INPUTS: dict[str, type[Struct]] = {TOPICS.topic_of(kind): kind.structs[0] for kind in kinds if kind.flow == "input"}
EVENTS: Sequence[Struct] = (
    Application("loan", "a", PERSON, "person"),
    Application("credit", "a", PERSON),
    Application("loan", "b", {**PERSON, "debts": 2**70}),
    Decision("credit", "a", approved=False, score=0.25),
    Decision("loan", "a", approved=True),
    Answer("loan", "a", "1"),
    Answer("credit", "a", None),
    Answer("loan", "a", "2", 3),
    Acted("loan", "a", "2"),
    Acted("credit", "a"),
    Outcome("loan", "a", "improved"),
    Outcome("credit", "a", "not_improved", acted=True),
    Erasure("loan", "a"),
    Erasure("credit", applicant="person"),
    Round("loan", datetime(2026, 11, 30, tzinfo=UTC), 100),
    Outcome("credit", "a", "unseen"),
    Spec("loan", msgspec.json.decode(document(PROGRAMS["loan"].spec)), PROGRAMS["loan"].bundle.manifest_sha256),
    Spec("credit", {"program": "credit"}, "0" * 64),
    Model("credit", "v2", "data:,{}", hashlib.sha256(b"{}").hexdigest()),
    Model("loan", "v2", "memory://nothing/manifest.json", "0" * 64),
)
JSON_WORDS = [
    *(b'{"', b'"}', b'":', b',"', b"[", b"]", b"[[", b"{}", b"[]", b"null", b"true", b"-0.0", b"1e400", b"1e-400"),
    *(b"9" * 19, b"-9223372036854775809", b"18446744073709551616", b"9" * 400, b"NaN", b"-Infinity", b"4.0", b"0.5"),
    *(b'"\\u0000"', b'"\\ud800"', b"\xff", b"\xed\xa0\x80", b"\\u00e9", "é".encode(), b"\x7f", b"\x00", b"\r\n"),
    *(
        b'"loan"',
        b'"credit"',
        b'"program":',
        b'"application":',
        b'"features":{',
        b'"income":',
        b'"region":',
        b'"debts":',
    ),
    *(
        b'"applicant":',
        b'"approved":',
        b'"score":',
        b'"result":',
        b'"manifest":',
        b'"sha256":',
        b'"version":',
        b'"south"',
    ),
    *(
        b'"kind":"none"',
        b'"data":',
        b'"type":',
        b'"time":',
        b'"timestamp":',
        b'"topic":',
        b'"offset":',
        b'"partition":',
    ),
    *(b'"line":', b'"sources":', b'"improved"', b'"unseen"', *(kind.ce_type.encode() for kind in kinds)),
]
HEADER_WORDS = [
    *(FIELD, VALUE, RECORD, b"=", b"ce_id=", b"ce_type=", b"ce_time=", b"ce_source=", b"ce_specversion=1.0"),
    *(b"onward_position=1.0", b"onward_generation=", b"2026-11-21T08:49:00.123Z", b"T23:59:60+14:00", b"0001-01-01"),
    *(b"9999-12-31", b"-9223372036854775808", b"9223372036854775807", b"-1", *JSON_WORDS),
]


def sent(event: Struct, time_ms: int = START_MS, id: bytes = b"id-1") -> bytes:
    """An event as an outside system would send it."""
    topic = list(INPUTS.values()).index(type(event))
    headers = [(name.encode(), content) for name, content in cloud_event_headers("", "test", ce_type(event), time_ms)]
    given = [(name, id if name == b"ce_id" else content) for name, content in headers]
    return written(topic, time_ms, given, msgspec.json.encode(event))


INPUT_SEEDS = [
    *map(sent, EVENTS),
    sent(EVENTS[0], -(2**63)),
    sent(EVENTS[1], 2**63 - 1),
    written(0, -1, [(b"ce_id", b"1"), (b"", None), (b"ce_id", b"2")], b"{"),
    written(2, 0, [(b"ce_id", b"1")], None),
    written(3, START_MS, [(b"ce_id", b"\xff"), (b"ce_time", b"2026-11-21T08:49:60+02:00")], b"[" * 2000),
]
