"""Dead letters as operators find them, and the records that send them again.

A record that is sent again goes to the partition of the one that could not be used, and names it in a header. So who
reads that partition from there on knows which records were sent again.

It keeps the sender's ``ce_id``: the sender's own repeat and a second retry are recognised by it. An event that was
well-formed may be among the processed events under its ``ce_id``, and would be dropped as a repeat; it gets one of its
own, which is the same at every retry.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import UNSET

from ...schemas.encoding import Problem
from ...schemas.events import DeadLetter
from ...schemas.headers import CE_ID, CE_TIME, CloudEvent, format_time, read_headers
from ...schemas.kinds import Kind, kinds
from ...schemas.problems import JSON_ERRORS
from ..records import Headers, Record, TopicPartition
from ..topics import Topics

RETRY = "onward_retry"
"""The header of a record that is sent again: the position of the one that could not be used."""

_decode = kinds["dead-letter"].decode


class FoundLetter(NamedTuple):
    """A dead letter as it was found.

    ``id`` is the position of the record that could not be used: ``TOPIC/PARTITION/OFFSET``. ``time_ms`` is its event
    time, ``sent_ms`` its timestamp. ``kind`` is that of its topic, None where that is no input. ``program`` and
    ``application`` are those that it names, where it is JSON. ``fault`` says why it cannot be sent again, None where it
    can.
    """

    id: str
    letter: DeadLetter
    time_ms: int
    sent_ms: int
    kind: Kind | None
    program: str | None
    application: str | None
    fault: str | None

    @property
    def is_run(self) -> bool:
        """Whether it is about several records, one behind the other."""
        return self.letter.count is not UNSET

    @property
    def records(self) -> int:
        """The number of records that it is about, as far as that is known."""
        return 1 if self.letter.count is UNSET else self.letter.count

    @property
    def last_offset(self) -> int:
        """The offset of the last record that it is about."""
        return self.letter.offset if self.letter.last_offset is UNSET else self.letter.last_offset

    @property
    def last_id(self) -> str:
        """The position of the last record that is sent again with it."""
        return f"{self.letter.topic}/{self.letter.partition}/{self.last_offset}" if self.is_run else self.id

    @property
    def partition(self) -> TopicPartition:
        """The partition of the record."""
        return TopicPartition(self.letter.topic, self.letter.partition)

    def without_bytes(self) -> FoundLetter:
        """The same without the record's bytes: many need not fit into memory."""
        return self._replace(letter=msgspec.structs.replace(self.letter, value=None, key=None, headers=()))

    def headers_again(self, now_ms: int | None = None) -> Headers:
        """The headers to send the record with again; ``now_ms`` replaces its event time."""
        added = {RETRY: self.id.encode()}
        if self.letter.refused_as != "record":
            added[CE_ID] = f"retry/{self.id}".encode()
        if now_ms is not None or CE_TIME not in dict(self.letter.headers):
            added[CE_TIME] = format_time(self.time_ms if now_ms is None else now_ms).encode()
        return [*((name, value) for name, value in self.letter.headers if name not in added), *added.items()]


def read_letter(record: Record, topics: Topics) -> FoundLetter | None:
    """The dead letter that a record of the dead-letters topic holds; None where it holds none."""
    attributes = read_headers(record.headers)
    try:
        letter: DeadLetter = _decode(record.value or b"")
    except JSON_ERRORS:
        return None
    if not isinstance(attributes, CloudEvent):
        return None
    refused = read_headers(letter.headers)
    times_ms = (
        refused.time_ms if isinstance(refused, CloudEvent) else None,
        attributes.time_ms,
        record.timestamp_ms,
    )
    time_ms = next(time_ms for time_ms in times_ms if time_ms is not None)
    kind = next((kind for kind in kinds.of_flow("input") if topics.topic_of(kind) == letter.topic), None)
    named = fields_of(letter)
    program, application = (_text(named.get(name)) for name in ("program", "application"))
    return FoundLetter(
        position_of(letter), letter, time_ms, record.timestamp_ms, kind, program, application, _fault(letter, kind)
    )


def position_of(record: Record | DeadLetter) -> str:
    """Where a record stands, or stood that could not be used: the id of a dead letter about it."""
    return f"{record.topic}/{record.partition}/{record.offset}"


def headers_of_another(record: Record, now_ms: int | None = None) -> Headers:
    """The headers to send a further record of a run with again; ``now_ms`` replaces its event time."""
    added = {RETRY: position_of(record).encode()}
    if now_ms is not None or CE_TIME not in dict(record.headers):
        added[CE_TIME] = format_time(record.timestamp_ms if now_ms is None else now_ms).encode()
    return [*((name, value) for name, value in record.headers if name not in added), *added.items()]


def retried_id(record: Record) -> str | None:
    """The id of the dead letter that a record of an input topic sends again; None for any other record."""
    value = dict(record.headers).get(RETRY)
    return None if value is None else value.decode(errors="replace")


def fields_of(letter: DeadLetter) -> dict[str, object]:
    """The fields of the record that a dead letter holds, where it is a JSON object."""
    try:
        value = msgspec.json.decode(letter.value or b"")
    except JSON_ERRORS:
        return {}
    return value if isinstance(value, dict) else {}


def _fault(letter: DeadLetter, kind: Kind | None) -> str | None:
    if kind is None:
        return f"it was read from {letter.topic or 'no topic'}, which is no input"
    if letter.value is None and letter.count is UNSET:
        return f"its {letter.size:,} bytes were not kept" if letter.size else "it had no value"
    if letter.value is not None and letter.count is UNSET and len(letter.value) < letter.size:
        return f"of its {letter.size:,} bytes only {len(letter.value):,} were kept"
    attributes = read_headers(letter.headers)
    return attributes.detail if isinstance(attributes, Problem) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
