"""Schema 14: states are kept as they are declared, and there are populations, of which picks teach."""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import Any

from .bodies import rewrite

CREDIT_OF = {"promise_state": 4, "rounds": 10}
"""The place of the credit among the fields of a state: from here on it comes first."""


def migrate(db: sqlite3.Connection) -> None:
    """Reorder the fields, and add the table."""
    for table, place in CREDIT_OF.items():
        rewrite(db, table, partial(_with_first, place))
    rewrite(db, "shared_evidence", _renamed)
    db.execute(
        "CREATE TABLE populations (program TEXT, shard INTEGER, body BLOB NOT NULL, PRIMARY KEY (program, shard))"
    )


def _with_first(place: int, record: list[Any]) -> list[Any]:
    return [record[place], *record[:place], *record[place + 1 :]]


def _renamed(record: dict[str, Any]) -> dict[str, Any]:
    return {"numbers": record["told"], "evidence": record["evidence"]}
