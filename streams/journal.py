"""The journal: one ordered log of everything a program shard has been told.

A journal record is the input's own JSON under its own CloudEvents attributes, plus the position it was read from
(header ``onward_source``: topic/partition/offset), by which the engine knows a record that ingest appended twice.
Its Kafka timestamp is that of the input, so that latency can be told from the journal alone.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from ..schemas.events import Application, DeadLetter, Decision, Model, Outcome, Tick
from ..schemas.headers import TYPES, CloudEvent, cloud_event_headers, read_headers
from .records import Headers, OutRecord, Record, TopicPartition

SOURCE = "onward_source"
HEADER_BYTES = 16_384
"""Most bytes of key, and of headers in all, that a dead letter keeps."""
Body = Application | Decision | Outcome | Model | DeadLetter | Tick

_DECODERS: Mapping[str, msgspec.json.Decoder[Body]] = {
    TYPES[kind]: msgspec.json.Decoder(kind) for kind in (Application, Decision, Outcome, Model, DeadLetter, Tick)
}
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


def dead_letter(record: Record, reason: str, detail: str, limit: int) -> DeadLetter:
    """A record that cannot be used, with its original bytes cut at ``limit``."""
    value = record.value or b""
    return DeadLetter(
        reason=reason,
        detail=detail,
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
        limit -= len(name) + len(content or b"")
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
    event = read_headers(record.headers)
    if not isinstance(event, CloudEvent):
        return _foreign(record, event.detail)
    decoder = _DECODERS.get(event.type or "")
    if decoder is None or record.value is None:
        return _foreign(record, f"type {event.type!r} does not belong in the journal")
    try:
        body = decoder.decode(record.value)
        source, source_offset = _source(record.headers)
    except (msgspec.MsgspecError, ValueError) as error:
        return _foreign(record, str(error))
    time_ms = record.timestamp_ms if event.time_ms is None else event.time_ms
    return Entry(record.offset, record.timestamp_ms, event.id, time_ms, source, source_offset, body, record.value)


def _source(headers: Headers) -> tuple[TopicPartition | None, int]:
    for name, content in headers:
        if name == SOURCE:
            topic, partition, offset = content.decode().rsplit("/", 2)
            return TopicPartition(topic, int(partition)), int(offset)
    return None, -1


def _foreign(record: Record, why: str) -> Entry:
    letter = dead_letter(record, "foreign_record", f"not written by ingest: {why}", limit=65536)
    identity = f"{record.topic}/{record.partition}/{record.offset}"
    return Entry(record.offset, record.timestamp_ms, identity, record.timestamp_ms, None, -1, letter, b"")
