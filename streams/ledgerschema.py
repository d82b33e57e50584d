"""The tables of a ledger. A change to them takes a new version: ledgers and snapshots of another are refused."""

from __future__ import annotations

SCHEMA_VERSION = 2
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE programs (program TEXT PRIMARY KEY, decisions TEXT NOT NULL, spec TEXT NOT NULL,
    first_model TEXT NOT NULL, version TEXT NOT NULL, manifest TEXT NOT NULL, sha256 TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE shards (program TEXT, shard INTEGER, step INTEGER NOT NULL, choice TEXT NOT NULL, learner BLOB NOT NULL,
    PRIMARY KEY (program, shard)) WITHOUT ROWID;
CREATE TABLE sources (topic TEXT, partition INTEGER, offset INTEGER, heard INTEGER NOT NULL, time_ms INTEGER,
    PRIMARY KEY (topic, partition)) WITHOUT ROWID;
CREATE TABLE watermarks (decisions TEXT PRIMARY KEY, time_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE cases (program TEXT, application TEXT, shard INTEGER NOT NULL, status INTEGER NOT NULL,
    time_ms INTEGER NOT NULL, event TEXT NOT NULL, decision TEXT, outcome TEXT, features BLOB, step INTEGER,
    candidate INTEGER, execution REAL, deadline_ms INTEGER, closes_ms INTEGER, forget_ms INTEGER,
    PRIMARY KEY (program, application)) WITHOUT ROWID;
CREATE INDEX cases_closing ON cases (program, closes_ms, application) WHERE status = 3 AND closes_ms IS NOT NULL;
CREATE INDEX cases_open ON cases (program, shard, step) WHERE status = 3 AND closes_ms IS NULL;
CREATE INDEX cases_forget ON cases (program, forget_ms) WHERE forget_ms IS NOT NULL;
CREATE TABLE waiting (journal_offset INTEGER, line INTEGER, program TEXT, application TEXT, kind TEXT NOT NULL,
    event TEXT NOT NULL, time_ms INTEGER NOT NULL, timestamp_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,
    topic TEXT, partition INTEGER, offset INTEGER NOT NULL, payload BLOB NOT NULL,
    PRIMARY KEY (journal_offset, line)) WITHOUT ROWID;
CREATE TABLE settled (program TEXT, event TEXT, forget_ms INTEGER NOT NULL, PRIMARY KEY (program, event)) WITHOUT ROWID;
CREATE INDEX settled_forget ON settled (program, forget_ms);
"""
