"""What a ledger holds: rows, and all of it as text."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

Dump = list[str]
"""A ledger's content, one line a row."""

_QUERIES = {
    "programs": "SELECT program, watermark, spec, first_model, version, manifest, sha256 FROM programs",
    "cases": "SELECT programs.program, application, body, pooled "
    "FROM cases NOT INDEXED LEFT JOIN programs ON programs.id = cases.program",
    "timers": "SELECT programs.program, kind, shard, due, key "
    "FROM timers LEFT JOIN programs ON programs.id = timers.program",
}
"""Tables in which a program has a number: it depends on when the program was added, which changes nothing."""


def rows(ledger: Path, query: str) -> list[tuple[Any, ...]]:
    """Run a query on a ledger."""
    with closing(sqlite3.connect(ledger)) as db:
        return db.execute(query).fetchall()


_OF_ITS_WORKER = tuple(
    f"INSERT INTO \"meta\" VALUES('{name}'," for name in ("generation", "engine", "engine_since", "unscrubbed")
)
"""How often a ledger was opened, by which version, and whether its file was written anew: not what it holds."""


def dump(ledger: Path) -> Dump:
    """Dump a ledger, sorted, without what its worker says of itself and with programs by name."""
    left_out = (*(f'INSERT INTO "{table}"' for table in _QUERIES), *_OF_ITS_WORKER)
    with closing(sqlite3.connect(ledger)) as db:
        lines = [_statement(line) for line in db.iterdump() if not line.startswith(left_out)]
        for table, query in _QUERIES.items():
            lines += [f"{table} {row}" for row in db.execute(query)]
        return sorted(lines)


def _statement(line: str) -> str:
    """A table that was migrated has its columns on other lines than one that was created so."""
    return " ".join(line.split()) if line.startswith("CREATE ") else line
