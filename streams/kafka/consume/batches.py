"""The record batches in the answer to a fetch, unpacked within a limit.

Of a batch over the limit nothing is read: one ``UnreadRecord`` stands for all of its records. What is limited is the
bytes that a batch unpacks to, the number of its records, and the headers of each: small ones take many times their
bytes in memory.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import (
    DefaultRecordBase,
    DefaultRecordBatch,
    _DefaultRecordBatchPy,
    _DefaultRecordPy,
)
from aiokafka.record.legacy_records import _LegacyRecordBatchPy
from aiokafka.record.memory_records import _MemoryRecordsPy
from aiokafka.record.util import decode_varint_py as decode_varint

from ...records import Headers, UnreadBatch
from .unpacking import UnpackError, unpack

_FIRST_MAGIC_WITH_HEADERS = 2
_HEADER = DefaultRecordBase.HEADER_STRUCT
_CODEC_MASK = DefaultRecordBase.CODEC_MASK
_CODEC_BYTE = DefaultRecordBase.ATTRIBUTES_OFFSET + 1
_ATTRIBUTES, _LAST_OFFSET_DELTA, _COUNT = 5, 6, 12
"""Fields of the header, by their place."""
_SMALL_BYTES = 1 << 20
"""A record of this size has no room for too many headers."""
_MOST_HEADERS = 10_000
_LEAST_EVENT_BYTES = 256
"""A batch holds at most as many records as events of this size would fit: each may become a dead letter."""
_LEGACY_BYTES = 8 << 20
"""The most that a batch of the formats before 2017 unpacks to: reading one takes several times its size."""
_RECORD_BYTES = 300
"""About what a record takes in memory beside its own bytes."""


class UnreadRecord(NamedTuple):
    """Stands for the records of a batch of which nothing is read, at the offset of the last."""

    offset: int
    timestamp: int | None
    unread: UnreadBatch
    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()


class FetchedBatches(_MemoryRecordsPy):  # type: ignore[misc]
    """The batches of one partition in the answer to a fetch.

    ``limit`` is the most bytes that a batch may unpack to. ``record_bytes`` is about what each record of the current
    batch takes in memory.
    """

    limit: int
    record_bytes = _RECORD_BYTES
    reader: type = DefaultRecordBatch
    _buffer: bytes
    _next_slice: memoryview

    @property
    def data(self) -> bytes:
        """The whole answer."""
        return self._buffer

    def next_batch(self) -> Any:
        """Return the next batch."""
        data = self._next_slice
        batch = super().next_batch()
        magic = data[self.MAGIC_OFFSET]
        if magic < _FIRST_MAGIC_WITH_HEADERS:
            return _LegacyBatch(data, magic, self.limit)
        fields = _HEADER.unpack_from(data)
        if fields[_ATTRIBUTES] & _CODEC_MASK or len(data) > _SMALL_BYTES or self.reader is not DefaultRecordBatch:
            return _Batch(data, batch, self, fields[_COUNT])
        self.open_batch(data, fields[_COUNT])
        return batch

    def open_batch(self, content: memoryview, count: int) -> None:
        """Note what a record of a batch takes: each is taken to be as large as the others."""
        self.record_bytes = _RECORD_BYTES + len(content) // max(count, 1)


class RestOfBatches(FetchedBatches):
    """The batches of an answer from the one that holds an offset; a header name in them need not be UTF-8.

    A record with such a name comes without headers; with ``every_header`` it has all, the name escaped.
    """

    def __init__(self, data: bytes, limit: int, offset: int, every_header: bool = False) -> None:
        super().__init__(data)
        self.limit = limit
        self.reader = _EscapingBatch if every_header else _TolerantBatch
        while self._end() <= offset:
            self._cache_next()

    def _end(self) -> int:
        data = self._next_slice
        if data[self.MAGIC_OFFSET] < _FIRST_MAGIC_WITH_HEADERS:
            [offset] = struct.unpack_from(">q", data)
            return int(offset) + 1
        fields = _HEADER.unpack_from(data)
        return int(fields[0] + fields[_LAST_OFFSET_DELTA] + 1)


class _Batch:
    """A batch that is unpacked when its records are asked for. Its other attributes are those of ``header``."""

    def __init__(self, data: memoryview, header: Any, batches: FetchedBatches, count: int) -> None:
        self._data = data
        self._header = header
        self._batches = batches
        self._count = count

    def __getattr__(self, name: str) -> Any:
        return getattr(self._header, name)

    def __iter__(self) -> Iterator[Any]:
        try:
            content = self._unpacked()
            self._check(content)
        except UnpackError as error:
            unread = _unread(error, self._header.base_offset, self._data)
            return iter([UnreadRecord(self._header.next_offset - 1, self._header.max_timestamp, unread)])
        self._batches.open_batch(content, self._count)
        return iter(self._batches.reader(content))

    def __next__(self) -> Any:
        # aiokafka reads the first record of a control batch so.
        return next(iter(self))

    def _unpacked(self) -> memoryview:
        """The batch as it would be without compression."""
        codec = self._data[_CODEC_BYTE] & _CODEC_MASK
        if not codec:
            return self._data
        if self._count > self._batches.limit // _LEAST_EVENT_BYTES:
            most = self._batches.limit // _LEAST_EVENT_BYTES
            raise UnpackError("oversized_batch", f"it has {self._count} records, the limit is {most}")
        content = unpack(codec, bytes(self._data[_HEADER.size :]), self._batches.limit, room=_HEADER.size)
        content[: _HEADER.size] = self._data[: _HEADER.size]
        content[_CODEC_BYTE] &= ~_CODEC_MASK
        return content

    def _check(self, content: memoryview) -> None:
        """Raise ``UnpackError`` when a record has too many headers. Where it ends too early, reading it will fail."""
        if len(content) <= _SMALL_BYTES:
            return
        pos = _HEADER.size
        for _ in range(self._count):
            if pos >= len(content):
                return
            length, pos = decode_varint(content, pos)
            if length > _SMALL_BYTES and (count := _header_count(content, pos)) > _MOST_HEADERS:
                raise UnpackError("oversized_batch", f"a record has {count} headers, the limit is {_MOST_HEADERS}")
            pos += max(length, 0)


class _TolerantBatch(_DefaultRecordBatchPy):  # type: ignore[misc]
    """A batch that returns a record without headers when a header name cannot be decoded."""

    _buffer: bytearray
    _pos: int

    def _read_msg(self) -> _DefaultRecordPy:
        try:
            # The C extension's ``decode_varint`` would read past the end of the batch.
            return super()._read_msg(decode_varint)
        except UnicodeDecodeError:
            return self._without_headers()

    def _without_headers(self) -> _DefaultRecordPy:
        length, start = decode_varint(self._buffer, self._pos)
        _, pos = decode_varint(self._buffer, start)
        time_delta, pos = decode_varint(self._buffer, pos)
        offset_delta, pos = decode_varint(self._buffer, pos)
        key, pos = self._nullable(pos)
        value, pos = self._nullable(pos)
        headers = self._headers(pos)
        if not pos <= start + length <= len(self._buffer):
            raise CorruptRecordException(f"a record of {length} bytes cannot end at {start + length}")
        self._pos = start + length
        appended = self.timestamp_type == self.LOG_APPEND_TIME
        timestamp = self.max_timestamp if appended else self.first_timestamp + time_delta
        return _DefaultRecordPy(self.base_offset + offset_delta, timestamp, self.timestamp_type, key, value, headers)

    def _headers(self, _: int) -> list[tuple[str, bytes | None]]:
        return []

    def _nullable(self, pos: int) -> tuple[bytes | None, int]:
        length, pos = decode_varint(self._buffer, pos)
        return (None, pos) if length < 0 else (bytes(self._buffer[pos : pos + length]), pos + length)


class _EscapingBatch(_TolerantBatch):
    """A batch that escapes what is not UTF-8 in the header names of a record."""

    def _headers(self, pos: int) -> list[tuple[str, bytes | None]]:
        headers = []
        count, pos = decode_varint(self._buffer, pos)
        for _ in range(count):
            name, pos = self._nullable(pos)
            content, pos = self._nullable(pos)
            headers.append(((name or b"").decode(errors="backslashreplace"), content))
        return headers


class _LegacyBatch(_LegacyRecordBatchPy):  # type: ignore[misc]
    """A batch of the formats before 2017."""

    _buffer: memoryview
    _compression_type: int
    _offset: int
    _timestamp: int | None

    def __init__(self, data: memoryview, magic: int, limit: int) -> None:
        super().__init__(data, magic)
        self._data = data
        self._limit = min(limit, _LEGACY_BYTES)

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from super().__iter__()
        except UnpackError as error:
            yield UnreadRecord(self._offset, self._timestamp, _unread(error, self._offset, self._data))

    def _decompress(self, key_offset: int) -> memoryview:
        _, packed = self._read_key_value(key_offset)
        return unpack(self._compression_type, packed or b"", self._limit)


def _header_count(content: memoryview, pos: int) -> int:
    """The number of headers of a record, whose bytes behind its length begin at ``pos``; 0 where it has no end."""
    try:
        for _ in range(3):
            _, pos = decode_varint(content, pos)
        for _ in range(2):
            length, pos = decode_varint(content, pos)
            pos += max(length, 0)
        return int(decode_varint(content, pos)[0])
    except IndexError:
        return 0


def _unread(error: UnpackError, first_offset: int, data: memoryview) -> UnreadBatch:
    return UnreadBatch(error.reason, str(error), first_offset, len(data), hashlib.sha256(data).hexdigest())
