"""The tables of a ledger. A change to them takes a new version. Ledgers and snapshots of another are refused.

The ``body`` of a case is the whole case in MessagePack, which is written several times as fast as a column for each
field; a checksum follows it, as it follows the state of a ``learner`` and the ``watch`` over its rewards. Cases lie in
the order in which they came, not by name: rows that change together lie together, and a commit writes few pages,
whatever the names are. ``in_round`` is 1 while a case waits for its round, else 0: so those who wait are found without
reading the others.

``rounds`` are those of programs with limited places, ``promised`` what there is of promises beside the open ones in
``promises``; their bodies are MessagePack with a checksum too. ``path_limit`` says how far the models of a program may
move before an open recourse is looked at again; it is null in a program with rounds.

``untold`` counts the outcomes that a shard has not told the others of. ``shared`` is what the shards of a program have
told each other; its body is MessagePack with a checksum.

``specs`` are the documents of all specs that a program has had, with a checksum, numbered from 0; the last one is in
force. ``programs.spec`` is its hash.

A timer says when a case, a waiting event or a processed event is due, and for which purpose (``engine/timers.py``). It
is found by program, kind, shard and due time.
"""

from __future__ import annotations

SCHEMA_VERSION = 12
"""Counted up when the tables change, or what a case or the state of a choice or goal holds."""
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE programs (id INTEGER PRIMARY KEY, program TEXT NOT NULL UNIQUE, watermark TEXT NOT NULL,
    spec TEXT NOT NULL, first_model TEXT NOT NULL, version TEXT NOT NULL, manifest TEXT NOT NULL, sha256 TEXT NOT NULL);
CREATE TABLE specs (program TEXT, number INTEGER, body BLOB NOT NULL, PRIMARY KEY (program, number)) WITHOUT ROWID;
CREATE TABLE shards (program TEXT, shard INTEGER, step INTEGER NOT NULL, choice TEXT NOT NULL, learner BLOB NOT NULL,
    untold INTEGER NOT NULL, watch BLOB NOT NULL, PRIMARY KEY (program, shard)) WITHOUT ROWID;
CREATE TABLE shared (program TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE sources (topic TEXT, partition INTEGER, offset INTEGER, heard INTEGER NOT NULL, time_ms INTEGER,
    PRIMARY KEY (topic, partition)) WITHOUT ROWID;
CREATE TABLE rounds (program TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE promised (program TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE promises (program TEXT, application TEXT, applicant TEXT, path_limit REAL, body BLOB NOT NULL,
    PRIMARY KEY (program, application));
CREATE INDEX promises_applicant ON promises (program, applicant) WHERE applicant IS NOT NULL;
CREATE INDEX promises_limit ON promises (program, path_limit, application) WHERE path_limit IS NOT NULL;
CREATE TABLE watermarks (watermark TEXT PRIMARY KEY, time_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE cases (program INTEGER NOT NULL, application TEXT NOT NULL, body BLOB NOT NULL,
    in_round INTEGER NOT NULL);
CREATE UNIQUE INDEX cases_name ON cases (program, application);
CREATE INDEX cases_in_round ON cases (program) WHERE in_round = 1;
CREATE TABLE timers (program INTEGER NOT NULL, kind TEXT NOT NULL, shard INTEGER NOT NULL, due INTEGER NOT NULL,
    key TEXT NOT NULL, PRIMARY KEY (program, kind, shard, due, key)) WITHOUT ROWID;
CREATE TABLE waiting (journal_offset INTEGER, line INTEGER, program TEXT, application TEXT, kind TEXT NOT NULL,
    event TEXT NOT NULL, time_ms INTEGER NOT NULL, timestamp_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,
    topic TEXT, partition INTEGER, offset INTEGER NOT NULL, payload BLOB NOT NULL,
    PRIMARY KEY (journal_offset, line)) WITHOUT ROWID;
CREATE TABLE processed_events (program TEXT, event TEXT, forget_ms INTEGER NOT NULL,
    PRIMARY KEY (program, event)) WITHOUT ROWID;
"""
