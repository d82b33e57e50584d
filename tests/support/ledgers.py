"""What a ledger holds: its cases, for how long, and how far it has read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from onward.streams.engine.cases import Case
from onward.streams.ledger.checksum import without_checksum
from onward.testing.ledger import rows
from onward.testing.tape import DAY_MS

RETENTION_MS = 30 * DAY_MS
"""How long a program remembers cases and events, where its spec does not say."""


class LedgerPosition(NamedTuple):
    """The journal partition of a ledger, and the next offset that it would fold."""

    partition: int
    offset: int


def ledger_position(ledger: Path) -> LedgerPosition:
    """Read a ledger's position."""
    with closing(sqlite3.connect(ledger)) as db:
        meta = dict(db.execute("SELECT name, value FROM meta WHERE name IN ('partition', 'offset')"))
    return LedgerPosition(meta["partition"], meta["offset"])


def cases(ledger: Path) -> list[Case]:
    """Return the cases at rest in a ledger."""
    bodies = rows(ledger, "SELECT body FROM cases ORDER BY rowid")
    return [msgspec.msgpack.decode(without_checksum(body), type=Case) for (body,) in bodies]
