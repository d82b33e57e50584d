"""What a ledger holds: cases, rows, and all of it as text."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..streams.engine.cases import Case
from ..streams.ledger.checksum import without_checksum

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


def cases(ledger: Path) -> list[Case]:
    """Return the cases at rest in a ledger."""
    bodies = rows(ledger, "SELECT body FROM cases ORDER BY rowid")
    return [msgspec.msgpack.decode(without_checksum(body), type=Case) for (body,) in bodies]


def rows(ledger: Path, query: str) -> list[tuple[Any, ...]]:
    """Run a query on a ledger."""
    with closing(sqlite3.connect(ledger)) as db:
        return db.execute(query).fetchall()


class LedgerPosition(NamedTuple):
    """The journal partition of a ledger, and the next offset that it would fold."""

    partition: int
    offset: int


def ledger_position(ledger: Path) -> LedgerPosition:
    """Read a ledger's position."""
    with closing(sqlite3.connect(ledger)) as db:
        meta = dict(db.execute("SELECT name, value FROM meta WHERE name IN ('partition', 'offset')"))
    return LedgerPosition(meta["partition"], meta["offset"])


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
