"""The tables of a ledger. A change to them takes a new version: ledgers and snapshots of another are refused.

The ``body`` of a case is the whole of it in MessagePack, which is written several times as fast as its fields in
columns of their own; it has a checksum, as is what a ``learner`` has learned. Beside it stands only what
cases are looked for by: their name, and what they are ``due`` for next in which ``queue`` of their program. Rows lie in
the order in which they came, not by name: what changes together lies together, and a commit writes few pages, whatever
the names are.
"""

from __future__ import annotations

from typing import Final

from ..engine.cases import Case, Status

FORGET: Final = -2
"""The queue of cases that are not open; ``due`` is the watermark after which they are forgotten."""
CLOSE: Final = -1
"""The queue of open cases whose window is one of event time; ``due`` is the watermark after which it closes. Those
whose window counts steps are in the queue of their shard's number, and ``due`` is their own step."""

SCHEMA_VERSION = 6
"""Counted up when the tables change, or what a choice keeps in its state."""
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE programs (id INTEGER PRIMARY KEY, program TEXT NOT NULL UNIQUE, decisions TEXT NOT NULL,
    spec TEXT NOT NULL, first_model TEXT NOT NULL, version TEXT NOT NULL, manifest TEXT NOT NULL, sha256 TEXT NOT NULL);
CREATE TABLE shards (program TEXT, shard INTEGER, step INTEGER NOT NULL, choice TEXT NOT NULL, learner BLOB NOT NULL,
    PRIMARY KEY (program, shard)) WITHOUT ROWID;
CREATE TABLE sources (topic TEXT, partition INTEGER, offset INTEGER, heard INTEGER NOT NULL, time_ms INTEGER,
    PRIMARY KEY (topic, partition)) WITHOUT ROWID;
CREATE TABLE watermarks (decisions TEXT PRIMARY KEY, time_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE cases (program INTEGER NOT NULL, application TEXT NOT NULL, queue INTEGER NOT NULL, due INTEGER NOT NULL,
    body BLOB NOT NULL);
CREATE UNIQUE INDEX cases_name ON cases (program, application);
CREATE INDEX cases_due ON cases (program, queue, due);
CREATE TABLE waiting (journal_offset INTEGER, line INTEGER, program TEXT, application TEXT, kind TEXT NOT NULL,
    event TEXT NOT NULL, time_ms INTEGER NOT NULL, timestamp_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,
    topic TEXT, partition INTEGER, offset INTEGER NOT NULL, payload BLOB NOT NULL,
    PRIMARY KEY (journal_offset, line)) WITHOUT ROWID;
CREATE TABLE settled (program TEXT, event TEXT, forget_ms INTEGER NOT NULL, PRIMARY KEY (program, event)) WITHOUT ROWID;
CREATE INDEX settled_forget ON settled (program, forget_ms);
"""


def place_of(case: Case) -> tuple[int, int | None]:
    """The queue in which a case waits, and what it is due for there."""
    if case.status is not Status.OPEN:
        return FORGET, case.forget_ms
    return (case.shard, case.step) if case.closes_ms is None else (CLOSE, case.closes_ms)
