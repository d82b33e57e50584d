"""Checksums of what a ledger keeps as bytes.

SQLite notices damage to the structure of its file, not to what is in it.
"""

from __future__ import annotations

from zlib import crc32

_BYTES = 4


class ChecksumError(ValueError):
    """The bytes do not match their checksum."""


def with_checksum(content: bytes) -> bytes:
    """The content with its checksum behind it."""
    return content + crc32(content).to_bytes(_BYTES, "big")


def without_checksum(kept: bytes) -> memoryview:
    """The content again; raise ``ChecksumError`` when it has changed."""
    content = memoryview(kept)[:-_BYTES]
    if crc32(content).to_bytes(_BYTES, "big") != kept[-_BYTES:]:
        raise ChecksumError(f"the checksum of {len(content)} bytes is wrong")
    return content
