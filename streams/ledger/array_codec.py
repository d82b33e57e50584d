"""Codec between records, which may hold arrays, and the bytes that a ledger keeps."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from .checksum import with_checksum, without_checksum

_DTYPE = re.compile(r"\|b1|[<>|][iuf]\d{1,2}")
"""Truth values and numbers: bytes are never read as Python objects, text or fields."""


def encode_record(record: Any) -> bytes:
    """A record as MessagePack, an array as (dtype, shape, bytes), with a checksum behind it."""
    return with_checksum(_encode(record))


def record_decoder(type: Any) -> Callable[[bytes], Any]:
    """Reads records of a type; raises ``ChecksumError`` or ``MsgspecError`` for what is no such record."""
    if type not in _decoders:
        _decoders[type] = partial(_decode, msgspec.msgpack.Decoder(type, dec_hook=_array).decode)
    return _decoders[type]


def pack(state: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays by name: the same state always gives the same bytes."""
    return encode_record(dict(sorted(state.items())))


def unpack(packed: bytes) -> dict[str, NDArray[Any]]:
    """Read them back; they may be written to. Raise ``ValueError`` for what ``pack`` does not write."""
    arrays: dict[str, NDArray[Any]] = _decode_arrays(packed)
    return arrays


def _packed(array: Any) -> tuple[str, tuple[int, ...], bytes]:
    if not isinstance(array, np.ndarray):
        raise NotImplementedError(f"a record cannot hold {array!r}")
    return array.dtype.str, array.shape, array.tobytes()


def _array(_: Any, packed: Any) -> NDArray[Any]:
    dtype, shape, content = msgspec.convert(packed, tuple[str, tuple[int, ...], bytes])
    try:
        if not _DTYPE.fullmatch(dtype):
            raise ValueError("its dtype is not one of numbers")
        if min(shape, default=0) < 0:
            raise ValueError("its shape is negative")
        return np.frombuffer(content, np.dtype(dtype)).reshape(shape).copy()
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"it holds no such array: {error}") from error


def _decode(decode: Callable[[memoryview], Any], kept: bytes) -> Any:
    try:
        return decode(without_checksum(kept))
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deep") from error


_encode = msgspec.msgpack.Encoder(enc_hook=_packed).encode
_decoders: dict[Any, Callable[[bytes], Any]] = {}
_decode_arrays = record_decoder(dict[str, NDArray[Any]])
