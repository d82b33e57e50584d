"""The tables of a ledger. A change to them takes a new version: ledgers and snapshots of another are refused.

The ``body`` of a case is the whole of it in MessagePack, which is written several times as fast as its fields in
columns of their own; beside it stands only what cases are looked for by. While a case is open it has an ``open_step``
or, where the program's window is one of event time, ``closes_ms``.
"""

from __future__ import annotations

SCHEMA_VERSION = 3
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE programs (program TEXT PRIMARY KEY, decisions TEXT NOT NULL, spec TEXT NOT NULL,
    first_model TEXT NOT NULL, version TEXT NOT NULL, manifest TEXT NOT NULL, sha256 TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE shards (program TEXT, shard INTEGER, step INTEGER NOT NULL, choice TEXT NOT NULL, learner BLOB NOT NULL,
    PRIMARY KEY (program, shard)) WITHOUT ROWID;
CREATE TABLE sources (topic TEXT, partition INTEGER, offset INTEGER, heard INTEGER NOT NULL, time_ms INTEGER,
    PRIMARY KEY (topic, partition)) WITHOUT ROWID;
CREATE TABLE watermarks (decisions TEXT PRIMARY KEY, time_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE cases (program TEXT, application TEXT, shard INTEGER NOT NULL, open_step INTEGER, closes_ms INTEGER,
    forget_ms INTEGER, body BLOB NOT NULL, PRIMARY KEY (program, application)) WITHOUT ROWID;
CREATE INDEX cases_open ON cases (program, shard, open_step) WHERE open_step IS NOT NULL;
CREATE INDEX cases_closing ON cases (program, closes_ms) WHERE closes_ms IS NOT NULL;
CREATE INDEX cases_forget ON cases (program, forget_ms) WHERE forget_ms IS NOT NULL;
CREATE TABLE waiting (journal_offset INTEGER, line INTEGER, program TEXT, application TEXT, kind TEXT NOT NULL,
    event TEXT NOT NULL, time_ms INTEGER NOT NULL, timestamp_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,
    topic TEXT, partition INTEGER, offset INTEGER NOT NULL, payload BLOB NOT NULL,
    PRIMARY KEY (journal_offset, line)) WITHOUT ROWID;
CREATE TABLE settled (program TEXT, event TEXT, forget_ms INTEGER NOT NULL, PRIMARY KEY (program, event)) WITHOUT ROWID;
CREATE INDEX settled_forget ON settled (program, forget_ms);
"""
