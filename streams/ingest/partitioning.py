"""The partition that a key goes to: Kafka's default rule, so that every sender agrees with it.

partition_of(b"personal-loan:0", 12)
"""

from __future__ import annotations

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The unsigned 32-bit MurmurHash2 of ``data`` as Kafka's Java client computes it (A. Appleby, public domain)."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if length > whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partition_of(key: bytes, n: int) -> int:
    """The partition, of ``n``, of records with this key (``n`` >= 1)."""
    return (murmur2(key) & 0x7FFFFFFF) % n
