"""Packed content, unpacked up to a budget: gzip, zlib, bzip2, xz, Zstandard, LZ4, Snappy, zip."""

from __future__ import annotations

import bz2
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cramjam

_GZIP = b"\x1f\x8b\x08"
_GZIP_HEAD = re.compile(rb"...[\x00-\x1f].{4}[\x00\x02\x04][\x00-\x0d\xff]", re.DOTALL)
"""What writes gzip begins with more than the mark, whose three bytes stand in much that is decoded by chance."""
_ZIP = b"PK\x03\x04"
_ZLIB = b"x\x01", b"x\x5e", b"x\x9c", b"x\xda"
_FIRST_BUFFER = 1 << 20
_BUFFER_IS_FULL = "failed to write whole buffer"
_XZ_MEMORY = 128 << 20
_RAW_DEFLATE = -zlib.MAX_WBITS
_STREAMS: dict[bytes, Callable[[], Any]] = {
    _GZIP: lambda: zlib.decompressobj(zlib.MAX_WBITS | 16),
    **{b"BZh%d1AY&SY" % level: bz2.BZ2Decompressor for level in range(1, 10)},
    b"\xfd7zXZ\0": lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY),
}
_BLOCKS: dict[bytes, Callable[[bytes, bytearray], int]] = {
    b"\x28\xb5\x2f\xfd": cramjam.zstd.decompress_into,
    b"\x04\x22\x4d\x18": cramjam.lz4.decompress_into,
    b"\xff\x06\x00\x00sNaPpY": cramjam.snappy.decompress_into,
}
_MEMBERS: dict[int, Callable[[], Any]] = {
    zipfile.ZIP_DEFLATED: lambda: zlib.decompressobj(_RAW_DEFLATE),
    zipfile.ZIP_BZIP2: bz2.BZ2Decompressor,
}
_MARKS = (_ZIP, *_STREAMS, *_BLOCKS)
_ALL_MARKS = (*_MARKS, *_ZLIB)
_ENCRYPTED = 1
_ERRORS: tuple[type[Exception], ...] = (
    *(OSError, EOFError, ValueError, RuntimeError, MemoryError),
    *(zlib.error, lzma.LZMAError, zipfile.BadZipFile, cramjam.DecompressionError),
)


class UnsearchedError(Exception):
    """Content that is not searched: it unpacks to too much, or cannot be unpacked."""


@dataclass
class Budget:
    """How many bytes may still be made of a content."""

    left: int

    def spend(self, count: int) -> None:
        """Take so many bytes; raise ``UnsearchedError`` when there are fewer."""
        self.left -= count
        if self.left < 0:
            raise UnsearchedError


def is_packed(content: bytes) -> bool:
    """Whether content begins with the mark of a format."""
    return content.startswith(_MARKS)


def unpacked(content: bytes, budget: Budget) -> Iterator[bytes]:
    """What is packed in content that begins with the mark of a format; nothing without such a mark.

    What is in a zip archive comes member by member. Raise ``UnsearchedError`` after what can be had, where that is not
    all.
    """
    if not content.startswith(_ALL_MARKS):
        return
    try:
        if content.startswith(_ZIP):
            yield from _members(content, budget)
        elif content.startswith(_ZLIB):
            yield from _zlib(content, budget)
        for mark, stream in _STREAMS.items():
            if content.startswith(mark):
                yield from _streams(mark, stream, content, budget)
        for mark, decompress_into in _BLOCKS.items():
            if content.startswith(mark):
                yield _into_buffer(decompress_into, content, budget)
    except _ERRORS:
        if not content.startswith(_GZIP) or _GZIP_HEAD.match(content):
            raise UnsearchedError from None


def _zlib(content: bytes, budget: Budget) -> Iterator[bytes]:
    """The same of two letters that may be a mark: content that is not packed is none."""
    try:
        part = zlib.decompressobj().decompress(content, budget.left + 1)
    except zlib.error:
        return
    yield from _counted(part, budget)


def _streams(mark: bytes, stream: Callable[[], Any], content: bytes, budget: Budget) -> Iterator[bytes]:
    """Streams one behind the other, and what comes behind them."""
    while content.startswith(mark):
        decompressor = stream()
        yield from _counted(decompressor.decompress(content, budget.left + 1), budget)
        if not decompressor.eof:
            raise EOFError
        content = decompressor.unused_data
    yield from _counted(content, budget)


def _counted(part: bytes, budget: Budget) -> Iterator[bytes]:
    """A part, also where it is more than the budget; raise ``UnsearchedError`` after it then."""
    yield part
    budget.spend(len(part))


def _into_buffer(decompress_into: Callable[[bytes, bytearray], int], packed: bytes, budget: Budget) -> bytes:
    size = min(_FIRST_BUFFER, budget.left)
    while size:
        buffer = bytearray(size)
        try:
            part = bytes(buffer[: decompress_into(packed, buffer)])
        except cramjam.DecompressionError as error:
            if str(error) != _BUFFER_IS_FULL or size == budget.left:
                raise
            size = min(8 * size, budget.left)
            continue
        budget.spend(len(part))
        return part
    raise UnsearchedError


def _members(content: bytes, budget: Budget) -> Iterator[bytes]:
    """The members of a zip archive that can be unpacked; raise ``UnsearchedError`` after them where one cannot."""
    is_complete = True
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            try:
                yield from _member(archive, member, budget)
            except UnsearchedError:
                is_complete = False
            except _ERRORS:
                is_complete = False
            if budget.left <= 0:
                break
    if not is_complete:
        raise UnsearchedError


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, budget: Budget) -> Iterator[bytes]:
    if member.flag_bits & _ENCRYPTED:
        raise UnsearchedError
    packing = member.compress_type
    # It is read as it is packed: the archive's own reader unpacks without a limit.
    member.compress_type, member.file_size = zipfile.ZIP_STORED, member.compress_size
    member.CRC = None  # type: ignore[assignment]
    with archive.open(member) as file:
        packed = file.read()
    if packing == zipfile.ZIP_STORED:
        yield from _counted(packed, budget)
    elif packing in _MEMBERS:
        yield from _counted(_MEMBERS[packing]().decompress(packed, budget.left + 1), budget)
    else:
        raise UnsearchedError
