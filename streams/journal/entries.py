"""Entries: lines of the journal as the engine reads them."""

from __future__ import annotations

import zlib
from functools import partial
from typing import NamedTuple

from msgspec import Raw, Struct

from ...schemas.kinds import Kind
from ..records import TopicPartition


class JournalPosition(NamedTuple):
    """A line of a journal partition: the record's offset, and the line's number in the record."""

    offset: int
    line: int


class CaseKey(NamedTuple):
    """The key of a case."""

    program: str
    application: str


NO_CASE = CaseKey("", "")

# One of each is made for every event. This is several times as fast as a call of the class.
journal_position = partial(tuple.__new__, JournalPosition)
case_key = partial(tuple.__new__, CaseKey)


class Entry(Struct, frozen=True, gc=False):
    """One event of the journal.

    ``key`` names the case that the event is about, ``NO_CASE`` for other events. ``source`` is the input partition that
    the event was read from, None for ticks. ``body`` is the decoded event of this ``kind``, ``raw`` its JSON as it was
    sent. ``clock_ms`` is how far the event moves its source's clock, where that is less than ``time_ms``.
    """

    position: JournalPosition
    key: CaseKey
    timestamp_ms: int
    id: str
    time_ms: int
    source: TopicPartition | None
    source_offset: int
    kind: Kind
    body: Struct
    raw: Raw
    clock_ms: int | None = None


def shard_of(application: str, shards: int) -> int:
    """The shard of an application: the same in every process and version (CRC-32 of its UTF-8 bytes)."""
    return zlib.crc32(application.encode()) % shards if shards > 1 else 0


def journal_key(program: str, shard: int) -> bytes:
    """The name of a shard. Its events stand in the journal partition that Kafka gives to this record key."""
    return f"{program}:{shard}".encode()
