"""The journal: one ordered log of everything a program shard has been told.

A journal record is the input's own JSON under its own CloudEvents attributes, plus the position it was read from
(header ``onward_source``: topic/partition/offset), by which the engine knows a record that ingest appended twice.
Its Kafka timestamp is that of the input, so that latency can be told from the journal alone.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, get_args

import msgspec

from ..schemas.events import Application, DeadLetter, Decision, Model, Outcome, Tick
from ..schemas.headers import CE_ID, CE_TIME, CE_TYPE, TYPES, CloudEvent, cloud_event_headers, parse_time
from .records import Headers, OutRecord, Record, TopicPartition

SOURCE = "onward_source"
HEADER_BYTES = 16_384
"""Most bytes of key, and of headers in all, that a dead letter keeps."""
HEADER_OVERHEAD_BYTES = 32
"""What a header costs in JSON beside its bytes: a record may hold very many empty ones."""
OFFSET_DIGITS = 18
"""Offsets are 64-bit integers."""
DETAIL_CHARACTERS = 1000
"""Most of an explanation that a dead letter keeps: some decoders repeat the value they refuse."""
Body = Application | Decision | Outcome | Model | DeadLetter | Tick

_DECODERS: Mapping[bytes, Callable[[bytes], Body]] = {
    TYPES[kind].encode(): msgspec.json.Decoder(kind).decode for kind in get_args(Body)
}
_SOURCES: dict[bytes, TopicPartition] = {}
"""Input partitions by how they stand in headers: there are few, and making them anew for every record is waste."""
_encode = msgspec.json.Encoder().encode


class Entry(NamedTuple):
    """A journal record, read. ``source`` is None for ticks, which have no input record."""

    offset: int
    timestamp_ms: int
    id: str
    time_ms: int
    source: TopicPartition | None
    source_offset: int
    body: Body
    raw: bytes


def shard_of(application: str, shards: int) -> int:
    """The shard of an application: the same in every process and version (CRC-32 of its UTF-8 bytes)."""
    return zlib.crc32(application.encode()) % shards if shards > 1 else 0


def journal_key(program: str, shard: int) -> bytes:
    """The journal's record key, which fixes the partition."""
    return f"{program}:{shard}".encode()


def journal_headers(event: CloudEvent, kind: type[Body], record: Record) -> Headers:
    """Headers of a journal record: the event's attributes, completed, and where it was read."""
    position = f"{record.topic}/{record.partition}/{record.offset}"
    time_ms = record.timestamp_ms if event.time_ms is None else event.time_ms
    return cloud_event_headers(event.id, event.source or record.topic, TYPES[kind], time_ms, **{SOURCE: position})


def tick_record(topic: str, partition: int, tick: Tick, now_ms: int) -> OutRecord:
    """A tick for one journal partition."""
    headers = cloud_event_headers(f"tick/{partition}/{now_ms}", "onward/ingest", TYPES[Tick], now_ms)
    return OutRecord(topic, partition, now_ms, None, _encode(tick), headers)


def seen_record(topic: str, partition: int, record: Record) -> OutRecord:
    """Tell one journal partition only that an input record was dealt with: a tick of no clock."""
    position = f"{record.topic}/{record.partition}/{record.offset}"
    headers = cloud_event_headers(position, "onward/ingest", TYPES[Tick], record.timestamp_ms, **{SOURCE: position})
    return OutRecord(topic, partition, record.timestamp_ms, None, _encode(Tick(())), headers)


def dead_letter(record: Record, reason: str, detail: str, limit: int) -> DeadLetter:
    """A record that cannot be used, with its original bytes cut at ``limit``."""
    value = record.value or b""
    return DeadLetter(
        reason=reason,
        detail=detail[:DETAIL_CHARACTERS],
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        size=len(value),
        sha256=hashlib.sha256(value).hexdigest(),
        value=None if record.value is None else value[:limit],
        key=None if record.key is None else record.key[:HEADER_BYTES],
        headers=tuple(_within(record.headers, HEADER_BYTES)),
    )


def _within(headers: Headers, limit: int) -> Iterator[tuple[str, bytes]]:
    for name, content in headers:
        limit -= len(name) + len(content or b"") + HEADER_OVERHEAD_BYTES
        if limit < 0:
            return
        yield name, content or b""


def letter_of(entry: Entry, reason: str, detail: str) -> DeadLetter:
    """A dead letter for an event that was well-formed but cannot be applied."""
    source = entry.source or TopicPartition("", -1)
    return DeadLetter(
        reason=reason,
        detail=detail,
        topic=source.topic,
        partition=source.partition,
        offset=entry.source_offset,
        size=len(entry.raw),
        sha256=hashlib.sha256(entry.raw).hexdigest(),
        value=entry.raw,
        headers=(("ce_id", entry.id.encode()),),
    )


def read(record: Record) -> Entry:
    """Read a journal record. One that Onward did not write becomes a dead letter of its own, never an error."""
    headers, value = dict(record.headers), record.value
    try:
        identity, time_ms = headers[CE_ID].decode(), parse_time(headers[CE_TIME])
        body = _DECODERS[headers[CE_TYPE]](value or b"")
        position = headers.get(SOURCE)
        source, offset = (None, -1) if position is None else _position(position)
    except (msgspec.MsgspecError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        return _foreign(record, f"{type(error).__name__}: {error}")
    return Entry(record.offset, record.timestamp_ms, identity, time_ms, source, offset, body, value or b"")


def _position(header: bytes) -> tuple[TopicPartition, int]:
    place, offset = header.rsplit(b"/", 1)
    source = _SOURCES.get(place)
    if source is None:
        topic, partition = place.rsplit(b"/", 1)
        source = _SOURCES[place] = TopicPartition(topic.decode(), int(partition))
    if len(offset) > OFFSET_DIGITS:
        raise ValueError(f"{offset.decode()} is no offset")
    return source, int(offset)


def _foreign(record: Record, why: str) -> Entry:
    letter = dead_letter(record, "foreign_record", f"not written by ingest: {why}", limit=65536)
    identity = f"{record.topic}/{record.partition}/{record.offset}"
    return Entry(record.offset, record.timestamp_ms, identity, record.timestamp_ms, None, -1, letter, b"")
