"""Dead letters: what could not be used, why, and where it stood."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from ...schemas.events import DeadLetter
from ..records import Headers, Record, TopicPartition, UnreadBatch

HEADER_BYTES = 16_384
"""Most bytes of headers in all that a dead letter keeps."""
JOURNAL_HEADER_BYTES = 4_096
"""Most bytes of those that say what the event is, in the journal."""
KEY_BYTES = 16_384
VALUE_BYTES = 524_288
"""Most of a value that a dead letter holds: in base64 it must fit Kafka's own limit of 1 MiB."""
HEADER_OVERHEAD_BYTES = 32
"""The bytes that a header costs in JSON beside its own: a record may hold very many empty ones."""
DETAIL_CHARACTERS = 1000
"""Most of an explanation that a dead letter keeps: some decoders repeat the value they refuse."""


def dead_letter_of_run(records: Sequence[Record], reason: str, detail: str) -> DeadLetter:
    """Consecutive records of a partition that cannot be used, without their values; or a batch that was not read."""
    first = records[0]
    if first.unread is not None:
        return _of_batch(first, first.unread, reason, detail)
    digest, size = hashlib.sha256(), 0
    for record in records:
        digest.update(record.value or b"")
        size += len(record.value or b"")
    is_run = len(records) > 1
    return DeadLetter(
        reason=reason,
        detail=detail[:DETAIL_CHARACTERS],
        topic=first.topic,
        partition=first.partition,
        offset=first.offset,
        size=size,
        sha256=digest.hexdigest(),
        value=None,
        headers=tuple(
            _fitting_headers([header for header in first.headers if not _is_foreign(header)], JOURNAL_HEADER_BYTES)
        ),
        refused_as="record",
        last_offset=records[-1].offset if is_run else UNSET,
        count=len(records) if is_run else UNSET,
    )


def without_first(letter: DeadLetter, last_known: int) -> DeadLetter:
    """The same run without the records up to ``last_known``, which another letter is about.

    It happens after a crash, when chunks end elsewhere. The hash stays that of the whole run.
    """
    if letter.count is UNSET or letter.last_offset is UNSET or last_known < letter.offset:
        return letter
    left = letter.last_offset - last_known
    detail = f"{letter.detail} (size and sha256 are those of the records from {letter.offset} on)"
    rest = replace(letter, offset=last_known + 1, count=min(letter.count, left), headers=(), detail=detail)
    return rest if left > 1 else replace(rest, last_offset=UNSET, count=UNSET)


def lacks_value(letter: DeadLetter) -> bool:
    """Whether the value of the record is to be read from its topic: not where it is too large to be kept."""
    if letter.refused_as != "record" or letter.value is not None:
        return False
    return letter.count is not UNSET or (letter.last_offset is UNSET and letter.size <= VALUE_BYTES)


def with_record(letter: DeadLetter, record: Record | None) -> DeadLetter:
    """The letter with the value and key of its (first) record, None where its topic does not hold it any more."""
    if record is None or record.unread is not None or not _may_be_about(letter, record):
        return replace(letter, detail=letter.detail + _gone(letter))
    value = None if record.value is None else record.value[:VALUE_BYTES]
    return replace(letter, value=value, key=record.key and record.key[:KEY_BYTES], headers=_headers(record))


def without_record(letter: DeadLetter, detail: str) -> dict[str, object]:
    """The fields that ``with_record`` changes, as the letter has them; ``detail`` is the one that was published."""
    fields = {"value": letter.value, "key": letter.key, "headers": letter.headers}
    return fields | {"detail": letter.detail if detail == letter.detail + _gone(letter) else detail}


def _gone(letter: DeadLetter) -> str:
    return f" (the record is no longer in {letter.topic})"


def _may_be_about(letter: DeadLetter, record: Record) -> bool:
    """Whether a letter can be about this record: another may stand there in a topic that was made again."""
    value = record.value or b""
    return letter.count is not UNSET or hashlib.sha256(value).hexdigest() == letter.sha256


def dead_letter_of_record(record: Record, reason: str, detail: str, limit: int) -> DeadLetter:
    """A record of the journal that Onward did not write, with its original bytes cut at ``limit``; or a batch."""
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
        key=None if record.key is None else record.key[:KEY_BYTES],
        headers=_headers(record),
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


def _headers(record: Record) -> tuple[tuple[str, bytes], ...]:
    # Those that say what the event is come first: without them the record could not be sent again.
    return tuple(_fitting_headers(sorted(record.headers, key=_is_foreign), HEADER_BYTES))


def _is_foreign(header: tuple[str, bytes]) -> bool:
    return not header[0].startswith("ce_")


def _fitting_headers(headers: Headers, limit: int) -> Iterator[tuple[str, bytes]]:
    for name, content in headers:
        limit -= len(name) + len(content or b"") + HEADER_OVERHEAD_BYTES
        if limit < 0:
            return
        yield name, content or b""
