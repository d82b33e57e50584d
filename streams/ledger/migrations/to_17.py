"""Schema 17: a ledger says which engine has folded it, and from which journal offset on."""

from __future__ import annotations

import sqlite3


def migrate(db: sqlite3.Connection) -> None:
    """Add the engine: one before there were numbers for it."""
    db.executemany("INSERT INTO meta VALUES (?, ?)", [("engine", 0), ("engine_since", 0)])
