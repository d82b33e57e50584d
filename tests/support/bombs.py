"""Record batches that are small on the wire and large when they are unpacked.

    bomb("zstd", 900 << 20)      # 28 kB

They are made piece by piece, so that making one takes no memory.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator

import cramjam
from aiokafka.record.default_records import DefaultRecordBase
from aiokafka.record.util import calc_crc32c, encode_varint

from onward.tests.support.raw_batches import COMPRESSIONS

_PIECE = bytes(1 << 20)
_XERIAL = struct.pack("!b6sBii", -126, b"SNAPPY", 0, 1, 1)
SNAPPY_OF_4_GIB = b"\xff\xff\xff\xff\x0f\0"
"""Snappy that only claims its size."""
SNAPPY_WITHOUT_END = _XERIAL + struct.pack("!i", -4) + b"\0" * 8
"""Its block is as long as the number before it, which leads back to that number."""


def bomb(compression: str, value_bytes: int, timestamp_ms: int = 0, headers: int = 0) -> bytes:
    """A batch (v2) of one record, whose value is this many zeros, and with so many headers."""
    return packed_batch(compression, _large_record(value_bytes, headers), 1, timestamp_ms)


def many_records(compression: str, count: int, timestamp_ms: int = 0) -> bytes:
    """A batch (v2) of so many records, each without key, value and headers."""
    body = b"\0" + _varint(0), _varint(-1) + _varint(-1) + _varint(0)
    one = (body[0] + _varint(number) + body[1] for number in range(count))
    content = b"".join(_varint(len(record)) + record for record in one)
    pieces = (content[start : start + len(_PIECE)] for start in range(0, len(content), len(_PIECE)))
    return packed_batch(compression, pieces, count, timestamp_ms)


def packed_batch(compression: str, content: Iterable[bytes], count: int, timestamp_ms: int) -> bytes:
    """A batch (v2) of ``count`` records with this serialised ``content``."""
    return batch_of(compression, pack(compression, content), count, timestamp_ms)


def batch_of(compression: str, packed: bytes, count: int, timestamp_ms: int) -> bytes:
    """A batch (v2) that is said to hold ``count`` records, compressed, in these bytes."""
    header = bytearray(DefaultRecordBase.HEADER_STRUCT.size)
    size = len(header) + len(packed) - DefaultRecordBase.AFTER_LEN_OFFSET
    fields = (COMPRESSIONS[compression], count - 1, timestamp_ms, timestamp_ms, -1, -1, -1, count)
    DefaultRecordBase.HEADER_STRUCT.pack_into(header, 0, 0, size, -1, 2, 0, *fields)
    crc = calc_crc32c(bytes(header[DefaultRecordBase.ATTRIBUTES_OFFSET :]) + packed)
    struct.pack_into(">I", header, DefaultRecordBase.CRC_OFFSET, crc)
    return bytes(header) + packed


def pack(compression: str, content: Iterable[bytes]) -> bytes:
    """Compress, as a Kafka client does."""
    if compression == "none":
        return b"".join(content)
    if compression == "snappy":
        blocks = (bytes(cramjam.snappy.compress_raw(piece)) for piece in content)
        return _XERIAL + b"".join(struct.pack("!i", len(block)) + block for block in blocks)
    if compression == "gzip":
        deflate = zlib.compressobj(wbits=31)
        return b"".join([*map(deflate.compress, content), deflate.flush()])
    compressor = cramjam.zstd.Compressor() if compression == "zstd" else _lz4()
    packed = []
    for piece in content:
        compressor.compress(piece)
        packed.append(bytes(compressor.flush()))
    return b"".join([*packed, bytes(compressor.finish())])


def _lz4() -> cramjam.lz4.Compressor:
    return cramjam.lz4.Compressor(content_checksum=False, block_linked=False)


def _large_record(value_bytes: int, headers: int) -> Iterator[bytes]:
    one = _varint(1) + b"h" + _varint(-1)
    start = b"\0" + _varint(0) + _varint(0) + _varint(-1) + _varint(value_bytes)
    end = _varint(headers)
    yield _varint(len(start) + value_bytes + len(end) + headers * len(one)) + start
    yield from _repeated(_PIECE, value_bytes)
    yield end
    yield from _repeated(one * (len(_PIECE) // len(one)), headers * len(one))


def _repeated(piece: bytes, size: int) -> Iterator[bytes]:
    for _ in range(size // len(piece)):
        yield piece
    if size % len(piece):
        yield piece[: size % len(piece)]


def _varint(number: int) -> bytes:
    encoded = bytearray()
    encode_varint(number, encoded.append)
    return bytes(encoded)
