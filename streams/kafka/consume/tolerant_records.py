"""Reads fetched record batches as our ``Record``, also when a header name is not UTF-8.

Clients of other languages can send such a name, and brokers accept it. aiokafka then raises while it reads the batch,
again at every restart, and loses the records it has read before in the same answer. Here the rest of the answer, from
that batch on, is read once more, and a record with such a name comes without any of its headers. Dropping only the one
header could change the meaning of the record: it may have been one of Onward's. Without the required headers the record
becomes a dead letter, which names its topic, partition and offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException, KafkaError
from aiokafka.record.default_records import _DefaultRecordBatchPy, _DefaultRecordPy
from aiokafka.record.legacy_records import LegacyRecordBatch
from aiokafka.record.memory_records import MemoryRecords, _MemoryRecordsPy
from aiokafka.record.util import decode_varint_py as decode_varint

from ...records import Record

_FIRST_MAGIC_WITH_HEADERS = 2
_NO_TIMESTAMP = -1


def read_tolerantly() -> None:
    """Make every aiokafka consumer of this process read in this way."""
    fetcher.MemoryRecords = _KeptRecords
    fetcher.PartitionRecords = _PartitionRecords


class _KeptRecords:
    """The batches of one partition in the answer to a fetch, with their bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        records = MemoryRecords(data)
        self.has_next, self.next_batch, self.size_in_bytes = records.has_next, records.next_batch, records.size_in_bytes


class _PartitionRecords(fetcher.PartitionRecords):  # type: ignore[misc]
    """The records of these batches, in order."""

    _records: Any
    _tp: Any

    def _unpack_records(self) -> Iterator[Any]:
        try:
            yield from self._tolerantly()
        except KafkaError:
            raise
        except Exception as error:  # decompressors raise errors of their own
            where = f"{self._tp.topic} partition {self._tp.partition} from offset {self.next_fetch_offset}"
            raise CorruptRecordException(f"{where} cannot be read: {type(error).__name__}: {error}") from error

    def _consumer_record(self, tp: Any, record: Any) -> Record:
        # Making aiokafka's own record takes as long as the rest of reading. Format 0 has no timestamps.
        timestamp_ms = _NO_TIMESTAMP if record.timestamp is None else record.timestamp
        return Record(
            tp.topic, tp.partition, record.offset, timestamp_ms, record.key, record.value, tuple(record.headers)
        )

    def _tolerantly(self) -> Iterator[Any]:
        try:
            yield from super()._unpack_records()
        except (UnicodeDecodeError, CorruptRecordException) as error:
            # aiokafka without its C extension raises CorruptRecordException from UnicodeDecodeError.
            if not isinstance(error.__cause__ or error, UnicodeDecodeError):
                raise
            self._records = _RestOfRecords(self._records.data, self.next_fetch_offset)
            yield from super()._unpack_records()


class _RestOfRecords(_MemoryRecordsPy):  # type: ignore[misc]
    """The batches of an answer, beginning with the one that holds an offset."""

    def __init__(self, data: bytes, offset: int) -> None:
        super().__init__(data)
        while self._batch().next_offset <= offset:
            self._cache_next()

    def next_batch(self) -> Any:
        """Return the next batch."""
        batch = self._batch()
        self._cache_next()
        return batch

    def _batch(self) -> Any:
        data = self._next_slice
        magic = data[self.MAGIC_OFFSET]
        return _TolerantBatch(data) if magic >= _FIRST_MAGIC_WITH_HEADERS else LegacyRecordBatch(data, magic)


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
        if not pos <= start + length <= len(self._buffer):
            raise CorruptRecordException(f"a record of {length} bytes cannot end at {start + length}")
        self._pos = start + length
        appended = self.timestamp_type == self.LOG_APPEND_TIME
        timestamp = self.max_timestamp if appended else self.first_timestamp + time_delta
        return _DefaultRecordPy(self.base_offset + offset_delta, timestamp, self.timestamp_type, key, value, [])

    def _nullable(self, pos: int) -> tuple[bytes | None, int]:
        length, pos = decode_varint(self._buffer, pos)
        return (None, pos) if length < 0 else (bytes(self._buffer[pos : pos + length]), pos + length)
