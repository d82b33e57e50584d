"""What a learner has learned, as bytes for the ledger."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray


def pack(state: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Arrays as MessagePack of name -> (dtype, shape, bytes): the same state always gives the same bytes."""
    return msgspec.msgpack.encode(
        {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in sorted(state.items())}
    )


def unpack(packed: bytes) -> dict[str, NDArray[np.generic]]:
    """Read them back; they may be written to."""
    arrays = msgspec.msgpack.decode(packed, type=dict[str, tuple[str, tuple[int, ...], bytes]])
    return {
        name: np.frombuffer(content, dtype=np.dtype(dtype)).reshape(shape).copy()
        for name, (dtype, shape, content) in arrays.items()
    }
