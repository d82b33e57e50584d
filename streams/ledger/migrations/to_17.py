"""Schema 17: a ledger says which engine has folded it, and from where on. It knows who was erased, and which event
times ran ahead."""

from __future__ import annotations

import sqlite3


def migrate(db: sqlite3.Connection) -> None:
    """Add the engine: one before there were numbers for it. The file is to be scrubbed: older versions left traces."""
    db.executemany("INSERT INTO meta VALUES (?, ?)", [("engine", 0), ("engine_since", 0), ("unscrubbed", 1)])
    db.execute("CREATE TABLE erasures (program TEXT, shard INTEGER, body BLOB NOT NULL, PRIMARY KEY (program, shard))")
    db.execute(
        "CREATE TABLE erased_names (program TEXT, application TEXT, body BLOB NOT NULL, "
        "PRIMARY KEY (program, application))"
    )
    # No event times that were too far ahead are known.
    db.execute("ALTER TABLE sources ADD COLUMN ahead_ms INTEGER")
