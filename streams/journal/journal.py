"""The journal: one ordered log of everything a program shard has been told.

A journal record is a JSON array of lines, one an event, in the order in which they are applied: ingest packs what it
read together, because a Kafka record of its own for each event would cost more than the event. A line holds the
input's own JSON, its CloudEvents attributes, and the position it was read from, by which the engine knows an input
record that ingest appended twice.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from ...schemas.events import Application, DeadLetter, Decision, Identifier, Journaled, Model, Outcome, Tick
from ...schemas.headers import TYPES, CloudEvent
from ..records import OutRecord, Record, TopicPartition
from .dead_letters import dead_letter_of_record

PACK_LINES = 500
PACK_BYTES = 131_072
"""A journal record is full at so many lines or bytes; a line that is larger has a record of its own."""
CHARACTER_BYTES = 4
"""The most that a character of an id or a source takes in JSON: they are printable, and written as UTF-8."""
MOST_MS = 2**62
"""A record may have any timestamp; one that is farther from the epoch than any time is told as if it were so far."""
FOREIGN_BYTES = 65_536
"""Most of a record that Onward did not write that its dead letter keeps."""


class RawApplication(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An application whose features are still JSON: its program knows how to read them."""

    program: str
    application: Identifier
    features: Raw
    applicant: Identifier | None = None


Body = RawApplication | Decision | Outcome | Model | DeadLetter | Tick

_KINDS: Mapping[str, type[Body]] = {
    TYPES[Application]: RawApplication,
    **{TYPES[kind]: kind for kind in (Decision, Outcome, Model, DeadLetter, Tick)},
}
CE_TYPES: Mapping[type[Body], str] = {kind: name for name, kind in _KINDS.items()}
"""The ``ce_type`` of what the journal holds."""
_DECODERS: Mapping[str, Callable[[Raw | bytes], Body]] = {
    name: msgspec.json.Decoder(kind).decode for name, kind in _KINDS.items()
}
_decode_lines = msgspec.json.Decoder(tuple[Journaled, ...]).decode
_encode = msgspec.json.Encoder().encode
_NOWHERE = TopicPartition("", -1)
_ABOUT_A_CASE = (RawApplication, Decision, Outcome)


class JournalPosition(NamedTuple):
    """Where an event stands in its journal partition: the record's offset and the line's number in it."""

    offset: int
    line: int


class CaseKey(NamedTuple):
    """What names a case."""

    program: str
    application: str


NO_CASE = CaseKey("", "")


class Entry(Struct, frozen=True, gc=False):
    """A line of the journal, read.

    ``key`` names the case it is about (``NO_CASE`` if none); ``source`` is None for ticks, which have no input record;
    ``raw`` is the event's own JSON, as it was sent.
    """

    place: JournalPosition
    key: CaseKey
    timestamp_ms: int
    id: str
    time_ms: int
    source: TopicPartition | None
    source_offset: int
    body: Body
    raw: Raw


# There is one of each an event: this is several times as fast as a call of the class.
_place = partial(tuple.__new__, JournalPosition)
_case_key = partial(tuple.__new__, CaseKey)


def shard_of(application: str, shards: int) -> int:
    """The shard of an application: the same in every process and version (CRC-32 of its UTF-8 bytes)."""
    return zlib.crc32(application.encode()) % shards if shards > 1 else 0


def journal_key(program: str, shard: int) -> bytes:
    """What names a shard: the journal partition of its events is that which Kafka would give this record key."""
    return f"{program}:{shard}".encode()


def line_of(event: CloudEvent, type: str, record: Record) -> Journaled:
    """The line of an event that was read from an input topic; ``type`` is its ``ce_type``."""
    return Journaled(
        type,
        event.id,
        record.timestamp_ms if event.time_ms is None else event.time_ms,
        record.timestamp_ms,
        Raw(record.value or b""),
        record.topic,
        record.partition,
        record.offset,
        event.source,
    )


def dead_letter_line(letter: DeadLetter, record: Record) -> Journaled:
    """The line of an input record that cannot be used."""
    identity = f"{record.topic}/{record.partition}/{record.offset}"
    return _own_line(DeadLetter, identity, record.timestamp_ms, letter, record)


def seen_line(record: Record) -> Journaled:
    """Tell a journal partition only that an input record was dealt with: a tick of no clock."""
    identity = f"{record.topic}/{record.partition}/{record.offset}"
    return _own_line(Tick, identity, record.timestamp_ms, Tick(()), record)


def tick_line(tick: Tick, now_ms: int) -> Journaled:
    """The line of a tick."""
    return Journaled(TYPES[Tick], f"tick/{now_ms}", now_ms, now_ms, Raw(_encode(tick)))


def pack(topic: str, partition: int, lines: Iterable[Journaled]) -> Iterator[OutRecord]:
    """The journal records for these lines, in their order. A record's timestamp is that of its last line."""
    packed: list[Journaled] = []
    size = 0
    for line in lines:
        length = len(line.data) + CHARACTER_BYTES * (len(line.id) + len(line.source or ""))
        if packed and (len(packed) == PACK_LINES or size + length > PACK_BYTES):
            yield _record(topic, partition, packed)
            packed, size = [], 0
        packed.append(line)
        size += length
    if packed:
        yield _record(topic, partition, packed)


def read(record: Record) -> list[Entry]:
    """Read a journal record. What Onward did not write becomes a dead letter of its own, never an error."""
    offset, source = record.offset, _NOWHERE
    entries: list[Entry] = []
    try:
        for number, line in enumerate(_decode_lines(record.value or b"")):
            # Most lines were read where the one before was.
            if line.partition != source.partition or line.topic != source.topic:
                source = _NOWHERE if line.topic is None else TopicPartition(line.topic, line.partition)
            body = _DECODERS[line.type](line.data)
            entries.append(
                Entry(
                    _place((offset, number)),
                    _case_key((body.program, body.application)) if isinstance(body, _ABOUT_A_CASE) else NO_CASE,
                    line.timestamp,
                    line.id,
                    line.time,
                    None if source is _NOWHERE else source,
                    line.offset,
                    body,
                    line.data,
                )
            )
    except (msgspec.MsgspecError, ValueError, KeyError, RecursionError) as error:
        return [_foreign(record, f"{type(error).__name__}: {error}")]
    return entries or [_foreign(record, "no lines")]


def _own_line(kind: type[DeadLetter | Tick], identity: str, timestamp_ms: int, body: Body, record: Record) -> Journaled:
    return Journaled(
        TYPES[kind],
        identity,
        min(max(timestamp_ms, -MOST_MS), MOST_MS),
        timestamp_ms,
        Raw(_encode(body)),
        record.topic,
        record.partition,
        record.offset,
        "onward/ingest",
    )


def _record(topic: str, partition: int, lines: Sequence[Journaled]) -> OutRecord:
    return OutRecord(topic, partition, lines[-1].timestamp, None, _encode(lines), ())


def _foreign(record: Record, why: str) -> Entry:
    letter = dead_letter_of_record(record, "foreign_record", f"not written by ingest: {why}", FOREIGN_BYTES)
    identity = f"{record.topic}/{record.partition}/{record.offset}"
    return Entry(
        JournalPosition(record.offset, 0),
        NO_CASE,
        record.timestamp_ms,
        identity,
        record.timestamp_ms,
        None,
        -1,
        letter,
        Raw(),
    )
