"""CloudEvents 1.0 in binary mode: the attributes of an event as Kafka record headers.

    headers = cloud_event_headers("a-17", "portal", ce_type(Application), 1_795_250_940_123)
    read_headers(headers)       # CloudEvent(id='a-17', source='portal', ..., time_ms=1795250940123)

Source: CloudEvents 1.0.2, Kafka protocol binding, section 3.2. Event times are milliseconds since the epoch, UTC.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

import msgspec

from .problems import Problem as Problem

CE_SPECVERSION: Final = "ce_specversion"
CE_ID: Final = "ce_id"
CE_SOURCE: Final = "ce_source"
CE_TYPE: Final = "ce_type"
CE_TIME: Final = "ce_time"
CONTENT_TYPE: Final = "content-type"

SPEC_VERSION: Final = b"1.0"
JSON: Final = b"application/json"
MAX_ID_CHARACTERS: Final = 200
MAX_NAME_CHARACTERS: Final = 1000

Header = tuple[str, bytes]

_SPEC: Final = (CE_SPECVERSION, SPEC_VERSION)
_CONTENT: Final = (CONTENT_TYPE, JSON)

RFC_3339 = re.compile(rb"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]([01]\d|2[0-3]):([0-5]\d))")
DOT, ZULU = b".Z"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
FIRST_SECOND = (datetime.min.replace(tzinfo=UTC) - EPOCH) // SECOND
LAST_SECOND = (datetime.max.replace(tzinfo=UTC) - EPOCH) // SECOND


class CloudEvent(msgspec.Struct, frozen=True, gc=False):
    """The attributes of a record; ``time_ms`` is its event time. Only ``id`` must be given."""

    id: str
    source: str | None
    type: str | None
    time_ms: int | None


def cloud_event_headers(id: str, source: str, type: str, time_ms: int) -> list[Header]:
    """The headers of an event to publish."""
    return [_SPEC, (CE_ID, id.encode()), _source(source), _type(type), _time(time_ms), _CONTENT]


# The same few headers stand on very many events.


@lru_cache(4096)
def _source(source: str) -> Header:
    return CE_SOURCE, source.encode()


@lru_cache(64)
def _type(type: str) -> Header:
    return CE_TYPE, type.encode()


@lru_cache(4096)
def _time(time_ms: int) -> Header:
    return CE_TIME, format_time(time_ms).encode()


def read_headers(headers: Sequence[tuple[str, bytes | None]]) -> CloudEvent | Problem:
    """The attributes of a record as read, or why they cannot be used (``missing_header``, ``malformed_header``)."""
    given = dict(headers)
    if len(given) != len(headers) and (twice := _given_twice(headers)):
        return Problem("malformed_header", f"{twice}: given more than once")
    name, value = CE_ID, given.get(CE_ID)
    if value is None:
        return Problem("missing_header", f"{CE_ID}: missing")
    if given.get(CE_SPECVERSION, SPEC_VERSION) != SPEC_VERSION:
        return Problem("malformed_header", f"{CE_SPECVERSION}: must be 1.0")
    try:
        identity = _text(value, MAX_ID_CHARACTERS)
        name, value = CE_SOURCE, given.get(CE_SOURCE)
        source = None if value is None else _name(value)
        name, value = CE_TYPE, given.get(CE_TYPE)
        kind = None if value is None else _name(value)
        name, value = CE_TIME, given.get(CE_TIME)
        time_ms = None if value is None else parse_time(value)
    except ValueError as error:
        return Problem("malformed_header", f"{name}: {error}")
    return CloudEvent(identity, source, kind, time_ms)


def parse_time(text: bytes) -> int:
    """An RFC 3339 time as milliseconds since the epoch, finer digits cut off. Raises ``ValueError``."""
    if len(text) == 24 and text[19] == DOT and text[23] == ZULU and text[20:23].isdigit():
        return _seconds(text[:19]) * 1000 + int(text[20:23])
    match = RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError("must be an RFC 3339 time such as 2026-11-21T08:49:00.123Z")
    day, minute, second, fraction, zone, hours, minutes = match.groups()
    leap = second == b"60"
    seconds = _seconds(day + b"T" + minute + b":" + (b"59" if leap else second)) + leap
    if hours is not None:
        offset = int(hours) * 3600 + int(minutes) * 60
        seconds -= offset if zone.startswith(b"+") else -offset
    if not FIRST_SECOND <= seconds <= LAST_SECOND:
        raise ValueError("not a time: the year in UTC must be 1 to 9999")
    return seconds * 1000 + int((fraction or b"")[:3].ljust(3, b"0"))


def format_time(time_ms: int) -> str:
    """Milliseconds since the epoch as RFC 3339 in UTC: ``2026-11-21T08:49:00.123Z``. A time that cannot be written
    so (a record's timestamp may be any number) becomes the nearest that can, in year 1 or 9999."""
    seconds, milliseconds = divmod(time_ms, 1000)
    if not FIRST_SECOND <= seconds <= LAST_SECOND:
        return format_time(FIRST_SECOND * 1000 if seconds < 0 else LAST_SECOND * 1000 + 999)
    return f"{_written(seconds)}.{milliseconds:03d}Z"


@lru_cache(maxsize=4096)
def _seconds(text: bytes) -> int:
    """Seconds since the epoch of ``2026-11-21T08:49:00``. Times cluster, so seconds repeat."""
    if RFC_3339.fullmatch(text + b"Z") is None:
        raise ValueError("must be an RFC 3339 time such as 2026-11-21T08:49:00.123Z")
    try:
        moment = datetime.fromisoformat(text.decode())
    except ValueError as error:
        raise ValueError(f"not a time: {error}") from None
    return (moment.replace(tzinfo=UTC) - EPOCH) // SECOND


@lru_cache(maxsize=4096)
def _written(seconds: int) -> str:
    return (EPOCH + timedelta(seconds=seconds)).isoformat()[:19]


@lru_cache(maxsize=1024)
def _name(value: bytes) -> str:
    """A source or type; there are few of them and they repeat."""
    return _text(value, MAX_NAME_CHARACTERS)


def _text(value: bytes, limit: int) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise ValueError("must be UTF-8") from None
    if not 0 < len(text) <= limit:
        raise ValueError(f"must have 1 to {limit} characters, not {len(text)}")
    if not text.isprintable():
        raise ValueError("holds a control character or another one that cannot be printed")
    return text


def _given_twice(headers: Sequence[tuple[str, bytes | None]]) -> str | None:
    names = [name for name, _ in headers]
    ours = (CE_SPECVERSION, CE_ID, CE_SOURCE, CE_TYPE, CE_TIME)
    return next((name for name in ours if names.count(name) > 1), None)
