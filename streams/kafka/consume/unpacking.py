"""Unpacks the compressed content of record batches, up to a limit.

Compression may stand for thirty thousand times its own size, and brokers accept that. So nothing is unpacked without a
bound: not by the size that a batch claims, and not by the size that it turns out to have.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import cramjam

NAMES = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
"""The codecs of Kafka's batches, by the last three bits of their attributes."""

_LEAST_BYTES = 16_384
_USUAL_RATIO = 16
_GROWTH = 8
"""The first buffer holds what is packed sixteen to one; a larger one is needed for few batches, and for bombs."""
_BUFFER_IS_FULL = "failed to write whole buffer"
_XERIAL = b"\x82SNAPPY\0"
_XERIAL_BYTES = 16
"""The header of the blocks in which Java's clients pack with snappy: the name, and two numbers of the version."""


class UnpackError(Exception):
    """A batch is not unpacked. ``reason`` is a word for dead letters, the message a line that explains it."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def unpack(codec: int, packed: bytes, limit: int, room: int = 0) -> memoryview:
    """The unpacked content, at most ``limit`` bytes, behind ``room`` bytes of zeros; raise ``UnpackError``."""
    name = NAMES.get(codec)
    if name is None:
        raise UnpackError("unreadable_batch", f"it is packed with codec {codec}, which is not one of Kafka's")
    if name == "snappy":
        return _unpack_snappy(packed, limit, room)
    into: Callable[[bytes, memoryview], int] = getattr(cramjam, name).decompress_into
    size = min(limit, max(_LEAST_BYTES, _USUAL_RATIO * len(packed)))
    while True:
        buffer = bytearray(room + size)
        try:
            return memoryview(buffer)[: room + into(packed, memoryview(buffer)[room:])]
        except cramjam.DecompressionError as error:
            if str(error) != _BUFFER_IS_FULL:
                raise _unreadable(name, error) from None
        if size == limit:
            raise _oversized(name, packed, limit)
        size = min(limit, _GROWTH * size)


def _unpack_snappy(packed: bytes, limit: int, room: int) -> memoryview:
    try:
        blocks = list(_snappy_blocks(packed))
        sizes = [cramjam.snappy.decompress_raw_len(block) for block in blocks]
        if sum(sizes) > limit:
            raise _oversized("snappy", packed, limit)
        buffer = memoryview(bytearray(room + sum(sizes)))
        end = room
        for block, size in zip(blocks, sizes, strict=True):
            cramjam.snappy.decompress_raw_into(block, buffer[end : end + size])
            end += size
    except (cramjam.DecompressionError, struct.error) as error:
        raise _unreadable("snappy", error) from None
    return buffer


def _snappy_blocks(packed: bytes) -> Iterator[Any]:
    """The blocks, each of which begins with its unpacked size; a client may also write one without a header."""
    if not packed.startswith(_XERIAL):
        yield packed
        return
    content = memoryview(packed)[_XERIAL_BYTES:]
    while content:
        [size] = struct.unpack_from("!i", content)
        if not 0 < size <= len(content) - 4:
            raise struct.error(f"a block of {size} bytes, {len(content) - 4} are left")
        yield content[4 : 4 + size]
        content = content[4 + size :]


def _oversized(name: str, packed: bytes, limit: int) -> UnpackError:
    return UnpackError(
        "oversized_batch",
        f"{len(packed)} bytes packed with {name} unpack to more than the limit of {limit} bytes "
        "(setting max_batch_bytes)",
    )


def _unreadable(name: str, error: Exception) -> UnpackError:
    return UnpackError("unreadable_batch", f"it cannot be unpacked with {name}: {error}")
