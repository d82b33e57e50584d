"""Codec between a learner's arrays and bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

_DTYPE = re.compile(r"\|b1|[<>|][iuf]\d{1,2}")
"""Truth values and numbers: bytes are never read as Python objects, text or fields."""

_SHOWN = 40


def pack(state: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Arrays as MessagePack of name -> (dtype, shape, bytes): the same state always gives the same bytes."""
    return msgspec.msgpack.encode(
        {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in sorted(state.items())}
    )


def unpack(packed: bytes | memoryview) -> dict[str, NDArray[np.generic]]:
    """Read them back; they may be written to. Raise ``ValueError`` for what ``pack`` does not write."""
    try:
        arrays = msgspec.msgpack.decode(packed, type=dict[str, tuple[str, tuple[int, ...], bytes]])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"it is not MessagePack of arrays: {error}") from error
    return {name: _array(name, *array) for name, array in arrays.items()}


def _array(name: str, dtype: str, shape: tuple[int, ...], content: bytes) -> NDArray[np.generic]:
    try:
        if not _DTYPE.fullmatch(dtype):
            raise ValueError("its dtype is not one of numbers")
        if min(shape, default=0) < 0:
            raise ValueError("its shape is negative")
        return np.frombuffer(content, np.dtype(dtype)).reshape(shape).copy()
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"array {name[:_SHOWN]!r}: {error}") from error
