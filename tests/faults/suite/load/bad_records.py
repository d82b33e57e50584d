"""Bad records: each can only become a dead letter."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random

from msgspec import Struct

from onward.schemas.events import Application, Decision, Model, Outcome
from onward.schemas.headers import cloud_event_headers
from onward.schemas.kinds import ce_type
from onward.streams.records import Headers
from onward.streams.topics import Topics
from onward.tests.faults.suite.check.expected_outputs import POISON
from onward.tests.faults.suite.load.applicants import InputRecord

_DAY_MS = 24 * 60 * 60 * 1000
_GOOD = b'{"program":"steps","application":"x","features":{"region":"north","income":1.0,"debts":1}}'
_LARGE_BYTES = 300_000


def bad_records(topics: Topics, random: Random, count: int) -> Iterator[InputRecord]:
    """Yield ``count`` bad records of all kinds, for all input topics and the journal."""
    for number in range(count):
        key = POISON + str(number).encode()
        kind = random.choice([_unreadable, _invalid, _out_of_time, _without_headers, _refused_model, _foreign])
        yield kind(topics, random, key)


def _headers(topics: Topics, topic: str, key: bytes, ahead_ms: int = 0) -> Headers:
    kinds: dict[str, type[Struct]] = {
        topics.applications: Application,
        topics.decisions: Decision,
        topics.outcomes: Outcome,
    }
    now_ms = time.time_ns() // 1_000_000
    return cloud_event_headers(key.decode(), "poison", ce_type(kinds.get(topic, Model)), now_ms + ahead_ms)


def _unreadable(topics: Topics, random: Random, key: bytes) -> InputRecord:
    topic = random.choice(topics.inputs)
    values = [
        None, b"", b"{", b"\xff\xfe\x00", b"null", b"[]", b"1e999", _GOOD[:-9], b"[" * 100_000, b'{"a":' * 50_000,
        b" " * _LARGE_BYTES, random.randbytes(200), b'{"program":"\xed\xa0\x80"}',
    ]  # fmt: skip
    return InputRecord(topic, key, random.choice(values), _headers(topics, topic, key))


def _invalid(topics: Topics, random: Random, key: bytes) -> InputRecord:
    values = [
        b'{"program":"nowhere","application":"x","features":{}}',
        b'{"program":"steps","application":"","features":{}}',
        b'{"program":"steps","application":"x"}',
        b'{"program":"steps","application":"x","features":{"region":"west","income":1.0,"debts":1}}',
        b'{"program":"steps","application":"x","features":{"region":"north","income":"rich","debts":1}}',
        b'{"program":"steps","application":"x","features":{"region":"north","income":1e308,"debts":-99}}',
        b'{"program":"steps","application":"x","features":{"region":"north","income":1.0}}',
        b'{"program":"steps","application":"x","features":{"region":"north","income":1.0,"debts":1},"more":1}',
    ]
    return InputRecord(topics.applications, key, random.choice(values), _headers(topics, topics.applications, key))


def _out_of_time(topics: Topics, random: Random, key: bytes) -> InputRecord:
    ahead_ms = random.choice([3, -5000]) * _DAY_MS
    return InputRecord(topics.applications, key, _GOOD, _headers(topics, topics.applications, key, ahead_ms))


def _without_headers(topics: Topics, random: Random, key: bytes) -> InputRecord:
    good = list(_headers(topics, topics.applications, key))
    headers: list[Headers] = [
        [],
        [(name, value) for name, value in good if name != "ce_id"],
        [(name, b"\xff" if name == "ce_id" else value) for name, value in good],
        [(name, b"yesterday" if name == "ce_time" else value) for name, value in good],
        [(name, b"onward.outcome.v1" if name == "ce_type" else value) for name, value in good],
        [*good, *((f"h{number}", b"x" * 500) for number in range(200))][5:],
    ]
    return InputRecord(topics.applications, key, _GOOD, random.choice(headers))


def _refused_model(topics: Topics, random: Random, key: bytes) -> InputRecord:
    places = [b"/nowhere/manifest.json", b"memory://nothing", b"no-such-scheme://x", b"/dev/zero", b""]
    value = b'{"program":"steps","version":"v2","manifest":"%b","sha256":"%b"}' % (random.choice(places), b"0" * 64)
    return InputRecord(topics.models, key, value, _headers(topics, topics.models, key))


def _foreign(topics: Topics, random: Random, key: bytes) -> InputRecord:
    """Make a record for the journal, into which only ingest should write."""
    values = [b"", b"{}", b"[[]]", b"[]", b"[" * 1000, random.randbytes(50), _GOOD]
    return InputRecord(topics.journal, key, random.choice(values), [])
