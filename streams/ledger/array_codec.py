"""Codec between what a ledger keeps and bytes: a learner's arrays, and records, which may hold arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

_DTYPE = re.compile(r"\|b1|[<>|][iuf]\d{1,2}")
"""Truth values and numbers: bytes are never read as Python objects, text or fields."""

_SHOWN = 40

_Packed = tuple[str, tuple[int, ...], bytes]
"""The dtype, shape and bytes of an array."""


def pack(state: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Arrays as MessagePack of name -> (dtype, shape, bytes): the same state always gives the same bytes."""
    return msgspec.msgpack.encode({name: _packed(array) for name, array in sorted(state.items())})


def unpack(packed: bytes | memoryview) -> dict[str, NDArray[np.generic]]:
    """Read them back; they may be written to. Raise ``ValueError`` for what ``pack`` does not write."""
    try:
        arrays = msgspec.msgpack.decode(packed, type=dict[str, _Packed])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"it is not MessagePack of arrays: {error}") from error
    return {name: _array(name, *array) for name, array in arrays.items()}


def encode_record(record: Any) -> bytes:
    """A record as MessagePack."""
    return _encode(record)


def record_decoder(type: Any) -> Callable[[bytes | memoryview], Any]:
    """Reads records of a type; raises ``MsgspecError`` for what is no such record."""
    decode = _decoders.get(type)
    if decode is None:
        decode = _decoders[type] = msgspec.msgpack.Decoder(type, dec_hook=_array_of).decode
    return decode


def _packed(array: Any) -> _Packed:
    if not isinstance(array, np.ndarray):
        raise NotImplementedError(f"a record cannot hold {array!r}")
    return array.dtype.str, array.shape, array.tobytes()


def _array_of(_: Any, packed: Any) -> NDArray[np.generic]:
    return _array("of a record", *msgspec.convert(packed, _Packed))


def _array(name: str, dtype: str, shape: tuple[int, ...], content: bytes) -> NDArray[np.generic]:
    try:
        if not _DTYPE.fullmatch(dtype):
            raise ValueError("its dtype is not one of numbers")
        if min(shape, default=0) < 0:
            raise ValueError("its shape is negative")
        return np.frombuffer(content, np.dtype(dtype)).reshape(shape).copy()
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"array {name[:_SHOWN]!r}: {error}") from error


_encode = msgspec.msgpack.Encoder(enc_hook=_packed).encode
_decoders: dict[Any, Callable[[bytes | memoryview], Any]] = {}
