"""The tables of a ledger. A change to them takes a new version, and a migration to it (``migrations/``).

The ``body`` of a case is the whole case in MessagePack, which is written several times as fast as a column for each
field; a checksum follows it, as it follows the state of a ``learner``. Cases lie in the order in which they came, not
by name: rows that change together lie together, and a commit writes few pages, whatever the names are. ``pooled`` is 1
while a case waits in a pool, else 0: so these are read without the others.

``untold`` counts the outcomes and picks that a shard has not told the others of.

``specs`` are the documents of all specs that a program has had, with a checksum, numbered from 0; the last one is in
force. ``programs.spec`` is its hash.

A timer says when a case, a waiting event or a processed event is due, and for which purpose
(``engine/timing/timers.py``). It is found by program, kind, shard and due time.

Each kind of state (``engine/program_state.py``) has a table of its own, with a record for each program or shard, and
the tables of rows that it declares. Their bodies are MessagePack with a checksum, too. They lie in the order in which
they came, which a restart keeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..engine.handlers import states
from ..engine.program_state import RowTable

SCHEMA_VERSION = 17
"""Counted up when the tables change, or what a case or the state of a choice or goal holds.

Fields with a default at the end of a record need no new version.
"""
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE programs (id INTEGER PRIMARY KEY, program TEXT NOT NULL UNIQUE, watermark TEXT NOT NULL,
    spec TEXT NOT NULL, first_model TEXT NOT NULL, version TEXT NOT NULL, manifest TEXT NOT NULL, sha256 TEXT NOT NULL);
CREATE TABLE specs (program TEXT, number INTEGER, body BLOB NOT NULL, PRIMARY KEY (program, number)) WITHOUT ROWID;
CREATE TABLE shards (program TEXT, shard INTEGER, step INTEGER NOT NULL, choice TEXT NOT NULL, learner BLOB NOT NULL,
    untold INTEGER NOT NULL, PRIMARY KEY (program, shard)) WITHOUT ROWID;
CREATE TABLE sources (topic TEXT, partition INTEGER, offset INTEGER, heard INTEGER NOT NULL, time_ms INTEGER,
    ahead_ms INTEGER, PRIMARY KEY (topic, partition)) WITHOUT ROWID;
CREATE TABLE watermarks (watermark TEXT PRIMARY KEY, time_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE cases (program INTEGER NOT NULL, application TEXT NOT NULL, body BLOB NOT NULL,
    pooled INTEGER NOT NULL);
CREATE UNIQUE INDEX cases_name ON cases (program, application);
CREATE INDEX cases_pooled ON cases (program) WHERE pooled = 1;
CREATE TABLE timers (program INTEGER NOT NULL, kind TEXT NOT NULL, shard INTEGER NOT NULL, due INTEGER NOT NULL,
    key TEXT NOT NULL, PRIMARY KEY (program, kind, shard, due, key)) WITHOUT ROWID;
CREATE TABLE waiting (journal_offset INTEGER, line INTEGER, program TEXT, application TEXT, kind TEXT NOT NULL,
    event TEXT NOT NULL, time_ms INTEGER NOT NULL, timestamp_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,
    topic TEXT, partition INTEGER, offset INTEGER NOT NULL, payload BLOB NOT NULL,
    PRIMARY KEY (journal_offset, line)) WITHOUT ROWID;
CREATE TABLE processed_events (program TEXT, event TEXT, forget_ms INTEGER NOT NULL,
    PRIMARY KEY (program, event)) WITHOUT ROWID;
"""


def state_tables() -> Iterator[str]:
    """The statements that make the tables of the kinds of state."""
    for kind in states.values():
        yield (
            f"CREATE TABLE {kind.table} (program TEXT, shard INTEGER, body BLOB NOT NULL, PRIMARY KEY (program, shard))"
        )
        for table in kind.rows:
            yield from _row_table(table)


def _row_table(table: RowTable[Any]) -> Iterator[str]:
    columns = "".join(f"{name} {type}, " for name, type in table.columns.items())
    yield (
        f"CREATE TABLE {table.name} (program TEXT, application TEXT, {columns}body BLOB NOT NULL, "
        "PRIMARY KEY (program, application))"
    )
    for name in table.columns:
        yield (
            f"CREATE INDEX {table.name}_{name} ON {table.name} (program, {name}, application) WHERE {name} IS NOT NULL"
        )
