"""The rows of a ledger as texts: what its columns hold, and the strings and numbers in their MessagePack."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..ledger.checksum import ChecksumError, without_checksum
from ..ledger.file import connected


class Row(NamedTuple):
    """A row of a table: its texts and numbers, a line each, and what else it holds.

    ``arrays`` are bytes in MessagePack, which hold numbers. ``others`` are bytes of which nothing is known.
    """

    text: bytes
    arrays: list[bytes]
    others: list[bytes]


def rows_of(path: Path) -> Iterator[tuple[str, Iterator[Row]]]:
    """All rows, table by table. Raise ``sqlite3.Error`` where the file cannot be read."""
    with closing(connected(path, "mode=ro")) as db:
        # A text that is damaged is no text.
        db.text_factory = bytes
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            yield name.decode(), _rows(db, name.decode())


def _rows(db: sqlite3.Connection, table: str) -> Iterator[Row]:
    quoted = table.replace('"', '""')
    kinds = [column[1].decode() for column in db.execute(f'PRAGMA table_info("{quoted}")')]
    types = ", ".join(f'typeof("{kind}")' for kind in kinds)
    for row in db.execute(f'SELECT *, {types} FROM "{quoted}"'):
        yield _row(zip(row[: len(kinds)], row[len(kinds) :], strict=True))


def _row(columns: Iterable[tuple[Any, bytes]]) -> Row:
    lines: list[bytes] = []
    row = Row(b"", [], [])
    for value, type in columns:
        if type == b"blob":
            _read_blob(value, lines, row)
        elif value is not None:
            lines.append(value if isinstance(value, bytes) else repr(value).encode())
    return row._replace(text=b"\n".join(lines))


def _read_blob(kept: bytes, lines: list[bytes], row: Row) -> None:
    """Add what a column of bytes holds: with a checksum, a record or a document; without one, anything."""
    try:
        content = bytes(without_checksum(kept))
    except (ChecksumError, ValueError):
        row.others.append(kept)
        return
    try:
        values = msgspec.msgpack.decode(content)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        row.others.append(content)
        return
    _read_values(values, lines, row)


def _read_values(values: Any, lines: list[bytes], row: Row) -> None:
    left = [values]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple):
            left += value
        elif isinstance(value, bytes):
            row.arrays.append(value)
        elif isinstance(value, msgspec.msgpack.Ext):
            row.others.append(bytes(value.data))
        elif value is not None:
            lines.append(str(value).encode("utf-8", "replace"))
