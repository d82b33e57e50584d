"""Schema 13: each kind of state has a table of its own, and a case has one time at which its timer is due."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from .bodies import body_of, read_body, rewrite

_STATE = "CREATE TABLE {} (program TEXT, shard INTEGER, body BLOB NOT NULL, PRIMARY KEY (program, shard))"
_ROWS = "CREATE TABLE {} (program TEXT, application TEXT, {}body BLOB NOT NULL, PRIMARY KEY (program, application))"
_INDEX = "CREATE INDEX promised_options_{0} ON promised_options (program, {0}, application) WHERE {0} IS NOT NULL"
OPEN = 3
"""The status of a case with an open window."""
PARTS = ("goal", "difficulty", "threshold_drift", "newcomer_drift")
"""The learners of rounds. The arrays of each stood under its name and ``_``."""
LEARNED = 7
"""The place of the arrays among the fields of a program's rounds."""
APPLICATION_EVENT, DEADLINE, CLOSES_MS, CLOSES_STEP, FORGET_MS = 4, 12, 13, 14, 15
"""Places among the fields of a case."""


def migrate(db: sqlite3.Connection) -> None:
    """Move the states to their tables, and change the cases."""
    rewrite(db, "cases", _with_one_due)
    # The column would keep the default of its migration.
    db.execute(
        "CREATE TABLE new_cases (program INTEGER NOT NULL, application TEXT NOT NULL, body BLOB NOT NULL, "
        "pooled INTEGER NOT NULL)"
    )
    db.execute("INSERT INTO new_cases SELECT program, application, body, in_round FROM cases ORDER BY rowid")
    db.execute("DROP TABLE cases")
    db.execute("ALTER TABLE new_cases RENAME TO cases")
    db.execute("CREATE UNIQUE INDEX cases_name ON cases (program, application)")
    db.execute("CREATE INDEX cases_pooled ON cases (program) WHERE pooled = 1")
    rounds = db.execute("SELECT program, body FROM rounds").fetchall()
    db.execute("DROP TABLE rounds")
    for table in ("reward_watch", "shared_evidence", "rounds", "promise_state"):
        db.execute(_STATE.format(table))
    _fill(db, "rounds", {program: _rounds(read_body(body)) for program, body in rounds})
    _fill(db, "shared_evidence", {name: _shared(read_body(body)) for name, body in db.execute("SELECT * FROM shared")})
    _fill(db, "promise_state", {name: read_body(body) for name, body in db.execute("SELECT * FROM promised")})
    _move_promises(db)
    for table in ("shared", "promised", "promises"):
        db.execute(f"DROP TABLE {table}")


def _with_one_due(case: list[Any]) -> list[Any]:
    waits = case[CLOSES_STEP] if case[DEADLINE] is None else case[CLOSES_MS]
    due = waits if case[2] == OPEN else case[FORGET_MS]
    first = APPLICATION_EVENT + 1
    return [*case[:first], due, *case[first : DEADLINE + 1], *case[FORGET_MS + 1 :]]


def _rounds(record: list[Any]) -> list[Any]:
    learned = msgspec.msgpack.decode(record[LEARNED])
    record[LEARNED] = {
        part: {name.removeprefix(f"{part}_"): learned[name] for name in learned if name.startswith(f"{part}_")}
        for part in PARTS
    }
    return record


def _shared(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "evidence": msgspec.msgpack.decode(record["evidence"])}


def _fill(db: sqlite3.Connection, table: str, records: Mapping[str, Any]) -> None:
    rows = [(program, 0, body_of(record)) for program, record in records.items()]
    db.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)


def _move_promises(db: sqlite3.Connection) -> None:
    """Promised scores and promised options get a table each; the kind no longer stands in the body."""
    db.execute(_ROWS.format("promised_scores", ""))
    db.execute(_ROWS.format("promised_options", "applicant TEXT, path_limit REAL, "))
    for column in ("applicant", "path_limit"):
        db.execute(_INDEX.format(column))
    query = "SELECT program, application, applicant, path_limit, body FROM promises ORDER BY rowid"
    for program, application, *columns, body in db.execute(query).fetchall():
        kind, *record = read_body(body)
        if kind == "round":
            row = (program, application, body_of(record))
            db.execute("INSERT INTO promised_scores VALUES (?, ?, ?)", row)
        else:
            db.execute(
                "INSERT INTO promised_options VALUES (?, ?, ?, ?, ?)", (program, application, *columns, body_of(record))
            )
