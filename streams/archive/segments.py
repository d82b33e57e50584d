"""The format of an archived segment: gzip of a line that says what it is, then of each record a line and its value.

    {"format":"onward.segment.v1","topic":"journal","partition":0,"first":0,"end":2}
    {"offset":0,"timestamp":1790000000000,"key":null,"size":17,"headers":[["onward_width","MQ=="]]}
    [{"type":"..."}]
    ...

All lines are JSON and end with a line feed, and so does each value, which stands as it is. Keys and headers are in
base64. ``size`` is that of the value in bytes; null for a record without one, where no value follows. Records have
offsets from ``first`` to below ``end``; where one is missing, Kafka had none. ``unread`` is there for a batch that
workers do not read, which is not kept: reason, detail, first offset, size, and sha256.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct

from ..records import Record, TopicPartition, UnreadBatch

FORMAT = "onward.segment.v1"
LARGEST_UNPACKED = 256 << 20
"""A segment that unpacks to more bytes is refused."""
_LEVEL = 6


class SegmentFormatError(ValueError):
    """The content is not that of this segment."""


class SegmentHeader(Struct, frozen=True):
    """What a segment holds: the records of a partition from offset ``first`` to below ``end``."""

    format: str
    topic: str
    partition: int
    first: int
    end: int


class _RecordLine(Struct, frozen=True, omit_defaults=True):
    offset: int
    timestamp: int
    key: bytes | None
    size: int | None
    headers: list[tuple[str, bytes]]
    unread: UnreadBatch | None = None


_encode = msgspec.json.Encoder().encode
_decode_line = msgspec.json.Decoder(_RecordLine).decode
_decode_header = msgspec.json.Decoder(SegmentHeader).decode


def header_of(journal: TopicPartition, first: int, end: int) -> SegmentHeader:
    """The header of a segment."""
    return SegmentHeader(FORMAT, *journal, first, end)


def encode_segment(header: SegmentHeader, records: Iterable[Record]) -> bytes:
    """The content of a segment's file: the same for the same records."""
    return gzip.compress(b"".join(_lines(header, records)), _LEVEL, mtime=0)


def decode_segment(header: SegmentHeader, content: bytes) -> list[Record]:
    """The records of a segment; raise ``SegmentFormatError`` where the content is not one, or is another's."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            unpacked = file.read(LARGEST_UNPACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise SegmentFormatError(f"it cannot be unpacked: {error}") from error
    if len(unpacked) > LARGEST_UNPACKED:
        raise SegmentFormatError(f"it unpacks to more than {LARGEST_UNPACKED >> 20} MiB")
    try:
        return list(_records(header, unpacked))
    except (msgspec.MsgspecError, ValueError) as error:
        raise SegmentFormatError(f"it is no segment: {error}") from error


def _lines(header: SegmentHeader, records: Iterable[Record]) -> Iterator[bytes]:
    yield _encode(header) + b"\n"
    for record in records:
        size = None if record.value is None else len(record.value)
        headers = [(name, value) for name, value in record.headers]
        line = _RecordLine(record.offset, record.timestamp_ms, record.key, size, headers, record.unread)
        yield _encode(line) + b"\n"
        if record.value is not None:
            yield record.value + b"\n"


def _records(header: SegmentHeader, content: bytes) -> Iterator[Record]:
    start = content.index(b"\n") + 1
    if (found := _decode_header(content[:start])) != header:
        raise ValueError(f"its first line says {found}")
    before = header.first - 1
    while start < len(content):
        stop = content.index(b"\n", start) + 1
        line = _decode_line(content[start:stop])
        value, start = (None, stop) if line.size is None else _value(content, stop, line.size)
        if not before < line.offset < header.end:
            raise ValueError(f"offset {line.offset} follows {before}")
        before, headers = line.offset, tuple(line.headers)
        yield Record(header.topic, header.partition, line.offset, line.timestamp, line.key, value, headers, line.unread)


def _value(content: bytes, start: int, size: int) -> tuple[bytes, int]:
    stop = start + size
    if size < 0 or content[stop : stop + 1] != b"\n":
        raise ValueError(f"a value of {size} bytes does not end where it should")
    return content[start:stop], stop + 1


def are_same(records: Sequence[Record], others: Sequence[Record]) -> bool:
    """Whether two sequences hold the same records, whatever the types of their headers' sequences."""
    return [_comparable(record) for record in records] == [_comparable(record) for record in others]


def _comparable(record: Record) -> Record:
    return record._replace(headers=tuple((name, bytes(value)) for name, value in record.headers))
