"""The seal of a file: AES-256-GCM in blocks, under a key of the file that is derived from that of its month.

    onward.sealed.v1       a line: the format
    16 bytes               the fingerprint of the month's key
    32 bytes               the salt, drawn at random for every writing of a file
    blocks                 each 4 MiB and a tag of 16 bytes; the last one is as long as what is left, which may be none

The file's key is HKDF-SHA256 of the month's key and the salt, so no two writings share one. The nonce of a block is its
number (11 bytes) and whether it is the last (1 byte): no nonce comes twice under a key, and a file that ends early has
no last block. What stands before the blocks is the associated data of each, with the file's place: the topic, the
partition, the offsets and the month. So no file passes for another's.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from typing import IO

SUFFIX = ".sealed"
KEY_BYTES = 32
BLOCK_BYTES = 4 << 20

_FORMAT = b"onward.sealed.v1\n"
_FINGERPRINT_BYTES, _SALT_BYTES, _TAG_BYTES = 16, 32, 16
_HEAD_BYTES = len(_FORMAT) + _FINGERPRINT_BYTES + _SALT_BYTES


class SealError(Exception):
    """What is read was not sealed here, with this key, or not as it is now."""


def seal(blocks: Iterable[bytes], key: bytes, place: str) -> Iterator[bytes]:
    """The content of a sealed file: ``blocks`` of any size under the key of a month."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    head = _FORMAT + _fingerprint(key) + secrets.token_bytes(_SALT_BYTES)
    cipher, data = AESGCM(_file_key(key, head)), head + place.encode()
    yield head
    for number, (block, is_last) in enumerate(_with_last(_resized(blocks))):
        yield cipher.encrypt(_nonce(number, is_last), block, data)


def unseal(file: IO[bytes], key: bytes, place: str) -> Iterator[bytes]:
    """What was sealed, block by block; raise ``SealError`` where it is another file, damaged, or has another key.

    A file that ends early is known by its last block: what was yielded before is right, and not all.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    head = read_head(file)
    if not is_of_key(head, key):
        raise SealError("it was sealed with another key of its month")
    cipher, data = AESGCM(_file_key(key, head)), head + place.encode()
    blocks = iter(lambda: _read(file, BLOCK_BYTES + _TAG_BYTES), b"")
    is_whole = False
    for number, (block, is_last) in enumerate(_with_last(blocks)):
        try:
            yield cipher.decrypt(_nonce(number, is_last), block, data)
        except InvalidTag:
            break
        is_whole = is_last
    if not is_whole:
        raise SealError("it is damaged, or another file's content")


def is_sealed(head: bytes) -> bool:
    """Whether a file that begins so is a sealed one, or was to be."""
    return head.startswith(_FORMAT)


def is_of_key(head: bytes, key: bytes) -> bool:
    """Whether a sealed file that begins so was sealed with this key of its month; raise ``SealError`` for no file."""
    if len(head) < _HEAD_BYTES or not is_sealed(head):
        raise SealError("it is not a sealed file")
    return secrets.compare_digest(head[len(_FORMAT) : len(_FORMAT) + _FINGERPRINT_BYTES], _fingerprint(key))


def read_head(file: IO[bytes]) -> bytes:
    """What stands before the blocks of a sealed file."""
    return _read(file, _HEAD_BYTES)


def _file_key(key: bytes, head: bytes) -> bytes:
    return _derived(key, b"onward.archive.file", head[-_SALT_BYTES:], KEY_BYTES)


def _fingerprint(key: bytes) -> bytes:
    return _derived(key, b"onward.archive.fingerprint", None, _FINGERPRINT_BYTES)


def _derived(key: bytes, purpose: bytes, salt: bytes | None, length: int) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), length, salt, purpose).derive(key)


def _nonce(number: int, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])


def _with_last(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each block, and whether it is the last."""
    before: bytes | None = None
    for block in blocks:
        if before is not None:
            yield before, False
        before = block
    if before is not None:
        yield before, True


def _resized(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks of ``BLOCK_BYTES``, the last one shorter; an empty one where there are none."""
    buffer = bytearray()
    for block in blocks:
        buffer += block
        while len(buffer) > BLOCK_BYTES:
            yield bytes(buffer[:BLOCK_BYTES])
            del buffer[:BLOCK_BYTES]
    yield bytes(buffer)


def _read(file: IO[bytes], size: int) -> bytes:
    """So many bytes, fewer at the end only: a file in a store may give fewer at once."""
    content = b""
    while len(content) < size and (more := file.read(size - len(content))):
        content += more
    return content
