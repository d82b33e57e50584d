"""Dead letters: what could not be used, why, and where it stood."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from ...schemas.events import DeadLetter
from ..records import Headers, Record, TopicPartition, UnreadBatch

HEADER_BYTES = 16_384
"""Most bytes of key, and of headers in all, that a dead letter keeps."""
HEADER_OVERHEAD_BYTES = 32
"""The bytes that a header costs in JSON beside its own: a record may hold very many empty ones."""
DETAIL_CHARACTERS = 1000
"""Most of an explanation that a dead letter keeps: some decoders repeat the value they refuse."""


def dead_letter_of_record(record: Record, reason: str, detail: str, limit: int) -> DeadLetter:
    """A record that cannot be used, with its original bytes cut at ``limit``; or a batch that was not read."""
    if record.unread is not None:
        return _of_batch(record, record.unread, reason, detail)
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
        # Those that say what the event is come first: without them the record could not be sent again.
        headers=tuple(_within(sorted(record.headers, key=_is_foreign), HEADER_BYTES)),
        refused_as="record",
    )


def _of_batch(record: Record, batch: UnreadBatch, reason: str, detail: str) -> DeadLetter:
    return DeadLetter(
        reason=reason,
        detail=detail[:DETAIL_CHARACTERS],
        topic=record.topic,
        partition=record.partition,
        offset=record.first_offset,
        size=batch.size,
        sha256=batch.sha256,
        value=None,
        last_offset=record.offset,
    )


def dead_letter_of_event(
    identity: str, source: TopicPartition | None, offset: int, raw: bytes, reason: str, detail: str
) -> DeadLetter:
    """An event that was well-formed but cannot be applied; ``raw`` is its JSON."""
    topic, partition = source or TopicPartition("", -1)
    return DeadLetter(
        reason=reason,
        detail=detail,
        topic=topic,
        partition=partition,
        offset=offset,
        size=len(raw),
        sha256=hashlib.sha256(raw).hexdigest(),
        value=raw,
        headers=(("ce_id", identity.encode()),),
        refused_as="event",
    )


def _is_foreign(header: tuple[str, bytes]) -> bool:
    return not header[0].startswith("ce_")


def _within(headers: Headers, limit: int) -> Iterator[tuple[str, bytes]]:
    for name, content in headers:
        limit -= len(name) + len(content or b"") + HEADER_OVERHEAD_BYTES
        if limit < 0:
            return
        yield name, content or b""
