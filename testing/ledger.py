"""What a ledger holds."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from ..streams.engine.cases import Case
from ..streams.ledger.checksum import without_checksum


def cases(ledger: Path) -> list[Case]:
    """Return the cases at rest in a ledger."""
    bodies = rows(ledger, "SELECT body FROM cases ORDER BY rowid")
    return [msgspec.msgpack.decode(without_checksum(body), type=Case) for (body,) in bodies]


def rows(ledger: Path, query: str) -> list[tuple[Any, ...]]:
    """Run a query on a ledger."""
    with closing(sqlite3.connect(ledger)) as db:
        return db.execute(query).fetchall()
