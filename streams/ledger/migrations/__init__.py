"""Migrations: bring a ledger of an older schema to today's, one version after the other.

``to_N.py`` holds ``migrate(db)``, which makes a ledger of schema N of one of the version before, in the transaction of
its caller. The files are found by import. A ledger is migrated on a copy, which is checked like a ledger that another
process has left; then it takes the place of the old one in one rename. A crash therefore leaves the old or the new one.

The tables and records of a version are written out in its migration: today's declarations change.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from threading import Event

from ...errors import LedgerError, one_line
from ..check import LedgerCheckError, LedgerMeta, check_copy
from ..file import DAMAGE_ERRORS, connected, copy_beside, copy_ledger, ledger_errors, replace_by_migrated
from ..schema import SCHEMA_VERSION


class MigrationError(Exception):
    """A ledger of an older schema cannot be brought to today's; it is as it was."""


def _found() -> Mapping[int, Callable[[sqlite3.Connection], None]]:
    names = (module.name for module in pkgutil.iter_modules(__path__) if module.name.startswith("to_"))
    return {int(name[3:]): importlib.import_module(f".{name}", __package__).migrate for name in names}


MIGRATIONS = _found()
"""By the schema that they lead to."""
OLDEST = min(MIGRATIONS) - 1
"""The oldest schema that can be migrated."""


def migrate_ledger(ledger: Path, stop: Event | None = None) -> None:
    """Bring a ledger, which must not be open, to today's schema; raise ``LedgerError``, and leave it as it was."""
    with ledger_errors(ledger), copy_beside(ledger) as copy:
        copy_ledger(ledger, copy, lambda: None)
        try:
            migrate_copy(copy, stop)
        except MigrationError as error:
            raise LedgerError(f"ledger {ledger} cannot be upgraded, and is as it was: {error}") from error
        replace_by_migrated(copy, ledger)


def migrate_copy(copy: Path, stop: Event | None = None) -> LedgerMeta:
    """Bring a copy of a ledger to today's schema, check it in full, and write it through to the disk.

    Raise ``MigrationError``; the copy is then of no use.
    """
    try:
        with closing(connected(copy, "mode=rw")) as db:
            db.isolation_level = None
            # After a failure the copy is of no use, so nothing need be rolled back; and it gets no companions.
            db.execute("PRAGMA journal_mode=OFF")
            if stop is not None:
                db.set_progress_handler(stop.is_set, 100_000)
            [(schema,)] = db.execute("SELECT value FROM meta WHERE name = 'schema'")
            if not isinstance(schema, int) or schema < OLDEST:
                raise MigrationError(
                    f"its schema is {schema}, and this version reads from {OLDEST} on: run a version between first"
                )
            db.execute("BEGIN IMMEDIATE")
            for version in range(schema + 1, SCHEMA_VERSION + 1):
                MIGRATIONS[version](db)
                db.execute("UPDATE meta SET value = ? WHERE name = 'schema'", (version,))
            db.execute("COMMIT")
        meta = check_copy(copy, stop)
    except (sqlite3.Error, LedgerCheckError, ValueError, *DAMAGE_ERRORS) as error:
        raise MigrationError(
            f"{one_line(error)}; go on with the version of onward that wrote it, and report this line"
        ) from error
    with copy.open("rb") as file:
        os.fsync(file.fileno())
    return meta
