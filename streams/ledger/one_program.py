"""One program's part of a ledger."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ..engine.handlers import states
from .file import connected, ledger_errors

_BY_NUMBER = ("cases", "timers")
"""The tables that name a program by its number."""


def drop_other_programs(copy: Path, program: str) -> None:
    """Delete from a copy of a ledger, which nobody has open, all that is of other programs; clocks are of all."""
    by_name = ["specs", "shards", "waiting", "processed_events"]
    for kind in states.values():
        by_name += [kind.table, *(table.name for table in kind.rows)]
    with ledger_errors(copy), closing(connected(copy, "mode=rw")) as db, db:
        for table in _BY_NUMBER:
            others = "program NOT IN (SELECT id FROM programs WHERE program = ?)"
            db.execute(f"DELETE FROM {table} WHERE {others}", (program,))
        for table in ("programs", *by_name):
            db.execute(f"DELETE FROM {table} WHERE program IS NOT ?", (program,))
