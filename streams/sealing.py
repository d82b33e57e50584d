"""Checksums of what a ledger keeps as bytes.

SQLite notices damage to the structure of its file, not to what is in it.
"""

from __future__ import annotations

from zlib import crc32

_BYTES = 4


class BrokenSealError(ValueError):
    """Bytes are not those that were sealed."""


def sealed(content: bytes) -> bytes:
    """The content with its checksum behind it."""
    return content + crc32(content).to_bytes(_BYTES, "big")


def unsealed(kept: bytes) -> memoryview:
    """The content again; raise ``BrokenSealError`` when it has changed."""
    content = memoryview(kept)[:-_BYTES]
    if crc32(content).to_bytes(_BYTES, "big") != kept[-_BYTES:]:
        raise BrokenSealError(f"the checksum of {len(content)} bytes is wrong")
    return content
