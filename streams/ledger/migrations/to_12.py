"""Schema 12: specs are kept, shards tell each other what they learn, cases in a round are found by an index, and a scan
of open options knows the hash of its model.

Ledgers before it kept only the hash of a spec's file. Their programs go on with the worker's files, which must say what
was left out then (``ledger/programs.py``).
"""

from __future__ import annotations

import sqlite3

from .bodies import body_of, read_body

_STATEMENTS = """
CREATE TABLE specs (program TEXT, number INTEGER, body BLOB NOT NULL, PRIMARY KEY (program, number)) WITHOUT ROWID;
CREATE TABLE new_shards (program TEXT, shard INTEGER, step INTEGER NOT NULL, choice TEXT NOT NULL,
    learner BLOB NOT NULL, untold INTEGER NOT NULL, PRIMARY KEY (program, shard)) WITHOUT ROWID;
INSERT INTO new_shards SELECT program, shard, step, choice, learner, 0 FROM shards;
DROP TABLE shards;
ALTER TABLE new_shards RENAME TO shards;
CREATE TABLE shared (program TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
ALTER TABLE cases ADD COLUMN in_round INTEGER NOT NULL DEFAULT 0;
CREATE INDEX cases_in_round ON cases (program) WHERE in_round = 1
"""
STATUS, IN_ROUND = 2, 7
"""The place of a case's status, and the number of those that wait for a round."""
SCAN = 5
"""The place of the scan among the fields of a program's promises."""


def migrate(db: sqlite3.Connection) -> None:
    """Add the tables and columns."""
    for statement in _STATEMENTS.split(";"):
        db.execute(statement)
    rowids = [row for row, body in db.execute("SELECT rowid, body FROM cases") if read_body(body)[STATUS] == IN_ROUND]
    db.executemany("UPDATE cases SET in_round = 1 WHERE rowid = ?", [(row,) for row in rowids])
    query = "SELECT promised.program, body, sha256 FROM promised JOIN programs USING (program)"
    for program, body, sha256 in db.execute(query).fetchall():
        record = read_body(body)
        if record[SCAN] is not None:
            version, *rest = record[SCAN]
            record[SCAN] = [version, sha256, *rest]
            db.execute("UPDATE promised SET body = ? WHERE program = ?", (body_of(record), program))
