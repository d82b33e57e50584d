"""The lines of journal records, written by ingest and read by the engine.

A journal record is a JSON array of lines, one an event, in the order in which they are applied. A line holds the
input's own JSON (of an event about a case with its texts in Unicode's normal form C), its CloudEvents attributes, and
the position it was read from, by which the engine recognises an input record that ingest appended twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import Raw, Struct

from ...schemas.events import DeadLetter, Journaled, RawSpec, Tick
from ...schemas.headers import CloudEvent
from ...schemas.kinds import Kind, kinds
from ..records import OutRecord, Record, TopicPartition
from .dead_letters import dead_letter_of_record
from .entries import NO_CASE, Entry, JournalPosition, case_key, journal_position
from .width import width_headers

RECORD_LINES = 500
RECORD_BYTES = 131_072
"""A journal record is full at this number of lines or bytes. A line that is larger has a record of its own."""
CHARACTER_BYTES = 4
"""The most that a character of an id or a source takes in JSON: they are printable, and written as UTF-8."""
MOST_MS = 2**62
"""A record may have any timestamp. One that is farther from the epoch counts as this far."""
FOREIGN_BYTES = 65_536
"""The most that a dead letter keeps of a journal record that Onward did not write."""

_decode_lines = msgspec.json.Decoder(tuple[Journaled, ...]).decode
_encode = msgspec.json.Encoder().encode
_WHITESPACE = b" \t\n\r"
"""JSON's. What stands around a value is no part of it when it is read again."""
_NOWHERE = TopicPartition("", -1)
_AGAIN = "spec-in-force"


class JournalRecord(OutRecord, frozen=True, gc=False):
    """A record to append to the journal, and the lines that its value holds."""

    lines: tuple[Journaled, ...]

    def appended(self, offset: int) -> Record:
        """The record as it stands in the journal."""
        headers = tuple(self.headers)
        return Record(
            self.topic, self.partition, offset, self.timestamp_ms, self.key, self.value, headers, lines=self.lines
        )


def line_of(event: CloudEvent, kind: Kind, record: Record, data: bytes, latest_ms: int = MOST_MS) -> Journaled:
    """The line of an event that was read from an input topic. ``data`` is its JSON.

    It moves the clock of its partition to its event time, but never beyond ``latest_ms``. An erasure, which moves none,
    counts for what was sent up to then.
    """
    time_ms = event_time_ms(event, record)
    return Journaled(
        kind.ce_type,
        event.id,
        time_ms,
        record.timestamp_ms,
        Raw(data.strip(_WHITESPACE)),
        record.topic,
        record.partition,
        record.offset,
        event.source,
        latest_ms if (kind.clocks or kind.about == "person") and time_ms > latest_ms else None,
    )


def event_time_ms(event: CloudEvent, record: Record) -> int:
    """The event time: what the event says, else the time of its Kafka record."""
    return record.timestamp_ms if event.time_ms is None else event.time_ms


def dead_letter_line(letter: DeadLetter, record: Record) -> Journaled:
    """The line of an input record that cannot be used."""
    return _own_line(kinds["dead-letter"], letter, record)


def handled_line(record: Record) -> Journaled:
    """A line that says only that an input record was handled: a tick that moves no clock."""
    return _own_line(kinds["tick"], Tick(()), record)


def tick_line(tick: Tick, now_ms: int) -> Journaled:
    """The line of a tick."""
    return Journaled(kinds["tick"].ce_type, f"tick/{now_ms}", now_ms, now_ms, Raw(_encode(tick)))


def spec_line(spec: RawSpec, sha256: str, now_ms: int) -> Journaled:
    """The line by which a worker declares with which spec it would begin a program.

    It has no source: the events of the topic ``specs`` have one, and change the spec.
    """
    return Journaled(kinds["spec"].ce_type, f"{spec.program}/spec/{sha256}", now_ms, now_ms, Raw(_encode(spec)))


def spec_again_line(spec: RawSpec, sha256: str, now_ms: int) -> Journaled:
    """The line that repeats the spec in force. It changes nothing: who reads a journal that was cut finds it there."""
    return Journaled(kinds["spec"].ce_type, f"{spec.program}/{_AGAIN}/{sha256}", now_ms, now_ms, Raw(_encode(spec)))


def is_spec_again(entry: Entry) -> bool:
    """Whether an entry repeats the spec in force."""
    return entry.source is None and entry.id.split("/")[1:2] == [_AGAIN]


def pack_lines(
    topic: str, partition: int, lines: Iterable[Journaled], width: int | None = None
) -> Iterator[JournalRecord]:
    """The journal records for these lines, in their order. A record's timestamp is that of its last line.

    ``width`` is the number of partitions of the journal for which this one was chosen.

    Lines are packed because a Kafka record for each event would cost more than the event.
    """
    packed: list[Journaled] = []
    size = 0
    for line in lines:
        length = len(line.data) + CHARACTER_BYTES * (len(line.id) + len(line.source or ""))
        if packed and (len(packed) == RECORD_LINES or size + length > RECORD_BYTES):
            yield _record(topic, partition, packed, width)
            packed, size = [], 0
        packed.append(line)
        size += length
    if packed:
        yield _record(topic, partition, packed, width)


def read_lines(record: Record) -> tuple[Journaled, ...]:
    """The lines of a journal record; none of a record that Onward did not write."""
    try:
        return _decode_lines(record.value or b"")
    except (msgspec.MsgspecError, RecursionError):
        return ()


def read_entries(record: Record) -> list[Entry]:
    """The entries of a journal record. A record that Onward did not write becomes one dead letter, never an error."""
    try:
        lines = _decode_lines(record.value or b"") if record.lines is None else record.lines
        entries = list(_entries(record.offset, lines))
    except (msgspec.MsgspecError, ValueError, KeyError, RecursionError) as error:
        return [_foreign(record, f"{type(error).__name__}: {error}")]
    return entries or [_foreign(record, "no lines")]


def _entries(offset: int, lines: Sequence[Journaled]) -> Iterator[Entry]:
    source = _NOWHERE
    for number, line in enumerate(lines):
        # Most lines have the source of the line before.
        if line.partition != source.partition or line.topic != source.topic:
            source = _NOWHERE if line.topic is None else TopicPartition(line.topic, line.partition)
        kind = kinds.by_type[line.type]
        if not kind.in_journal:
            raise KeyError(line.type)
        body = kind.decode_body(line.data)
        yield Entry(
            journal_position((offset, number)),
            case_key((body.program, body.application)) if kind.about == "case" else NO_CASE,
            line.timestamp,
            line.id,
            line.time,
            None if source is _NOWHERE else source,
            line.offset,
            kind,
            body,
            line.data,
            line.clock,
        )


def _own_line(kind: Kind, body: Struct, record: Record) -> Journaled:
    timestamp_ms = record.timestamp_ms
    return Journaled(
        kind.ce_type,
        f"{record.topic}/{record.partition}/{record.offset}",
        min(max(timestamp_ms, -MOST_MS), MOST_MS),
        timestamp_ms,
        Raw(_encode(body)),
        record.topic,
        record.partition,
        record.offset,
        "onward/ingest",
    )


def _record(topic: str, partition: int, lines: Sequence[Journaled], width: int | None) -> JournalRecord:
    value, headers = _encode(lines), width_headers(width)
    return JournalRecord(topic, partition, lines[-1].timestamp, None, value, headers, tuple(lines))


def _foreign(record: Record, why: str) -> Entry:
    why = why if record.unread is None else record.unread.detail
    letter = dead_letter_of_record(record, "foreign_record", f"not written by ingest: {why}", FOREIGN_BYTES)
    identity = f"{record.topic}/{record.partition}/{record.offset}"
    position, time_ms = JournalPosition(record.offset, 0), record.timestamp_ms
    return Entry(position, NO_CASE, time_ms, identity, time_ms, None, -1, kinds["dead-letter"], letter, Raw())
