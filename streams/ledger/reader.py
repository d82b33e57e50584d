"""Ledgers read while workers write them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ..errors import LedgerError
from .file import connected
from .schema import SCHEMA_VERSION


def ledgers_in(folder: Path) -> list[Path]:
    """The ledgers of a state directory; ``LedgerError`` when there is none."""
    paths = sorted(folder.glob("*.sqlite"))
    if not paths:
        raise LedgerError(f"there are no ledgers (*.sqlite) in {folder}: is it the worker's --state-dir?")
    return paths


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A read transaction: all that is read is of the same moment. Errors become ``LedgerError``."""
    try:
        with closing(connected(path, "mode=ro")) as db:
            db.execute("BEGIN")
            yield db
    except (sqlite3.Error, KeyError, ValueError) as error:
        raise LedgerError(f"ledger {path} cannot be read: {error}") from error


def meta_of(path: Path, db: sqlite3.Connection) -> dict[str, Any] | None:
    """The identity of a ledger of this schema; None while a worker is creating it."""
    if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return None
    meta: dict[str, Any] = dict(db.execute("SELECT name, value FROM meta"))
    if meta["schema"] != SCHEMA_VERSION:
        raise LedgerError(f"ledger {path} has schema {meta['schema']}: this version reads {SCHEMA_VERSION}")
    return meta
