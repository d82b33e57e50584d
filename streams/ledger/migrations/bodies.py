"""The bodies of rows in a migration: read without today's types, changed, and written again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..checksum import with_checksum, without_checksum

_ROWS = 10_000


def read_body(body: bytes) -> Any:
    """The lists, dictionaries and values of a record."""
    return msgspec.msgpack.decode(without_checksum(body))


def body_of(record: Any) -> bytes:
    """The body of a record."""
    return with_checksum(msgspec.msgpack.encode(record))


def rewrite(db: sqlite3.Connection, table: str, change: Callable[[Any], Any]) -> None:
    """Change the records of a table with row ids, in place; ``change`` returns the new one."""
    last = -(2**63)
    while True:
        query = f"SELECT rowid, body FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT ?"
        rows = db.execute(query, (last, _ROWS)).fetchall()
        if not rows:
            return
        last = rows[-1][0]
        changed = [(body_of(change(read_body(body))), row) for row, body in rows]
        db.executemany(f"UPDATE {table} SET body = ? WHERE rowid = ?", changed)


def read_array(packed: Any) -> NDArray[Any]:
    """An array, which is kept as (dtype, shape, bytes)."""
    dtype, shape, content = packed
    return np.frombuffer(content, np.dtype(dtype)).reshape(shape)


def packed_array(array: NDArray[Any]) -> tuple[str, tuple[int, ...], bytes]:
    """An array as it is kept."""
    return array.dtype.str, array.shape, array.tobytes()
