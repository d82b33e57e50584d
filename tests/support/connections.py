"""The SQLite connections that tests open, so that none is left open, and none waits for the disk.

Python 3.13 warns of a connection that nobody closes, whenever it happens to be collected, and a later test is blamed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_opened: list[TrackedConnection] = []


SYNCED = "PRAGMA synchronous=NORMAL"
NOT_SYNCED = "PRAGMA synchronous=OFF"


class TrackedConnection(sqlite3.Connection):
    """A connection that is known until it is closed."""

    def __init__(self, database: Any, *args: Any, **options: Any) -> None:
        super().__init__(database, *args, **options)
        self.database = str(database)
        _opened.append(self)

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        """Run a statement; what asks for writes to the disk itself gets none: see ``leave_the_disk_alone``."""
        if sql == "PRAGMA journal_mode=WAL":
            super().execute(NOT_SYNCED)
        return super().execute(NOT_SYNCED if sql == SYNCED else sql, *parameters)

    def close(self) -> None:
        """Close it."""
        super().close()
        if self in _opened:
            _opened.remove(self)


def track_connections() -> None:
    """Let every connection of this process be a tracked one."""
    connect = sqlite3.connect

    def connect_tracked(database: Any, *args: Any, **options: Any) -> sqlite3.Connection:
        return connect(database, *args, factory=TrackedConnection, **options)

    sqlite3.connect = connect_tracked  # type: ignore[assignment]


def leave_the_disk_alone() -> None:
    """Let files of this process reach the disk when they do: only a power cut would tell, and no test has one."""
    os.fsync = lambda fd: None


@contextmanager
def closing_connections() -> Iterator[list[str]]:
    """Close at the end of the block what is left open in it, and list the files."""
    left: list[str] = []
    before = list(_opened)
    try:
        yield left
    finally:
        for connection in [one for one in _opened if one not in before]:
            left.append(connection.database)
            connection.close()
