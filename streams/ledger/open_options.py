"""The open options of a program in the ledgers of its workers, read while the workers write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..engine.promises.promised_options import PROMISED_OPTIONS, PromisedOptions
from ..engine.promises.state import PromiseRecord, PromiseState
from ..errors import LedgerError
from .array_codec import record_decoder
from .checksum import without_checksum
from .file import connected
from .schema import SCHEMA_VERSION

PEOPLE_A_PAGE = 2000


@dataclass(frozen=True)
class ProgramLedger:
    """What one ledger holds of a program: its identity, current model, record of promises, and how many people have
    open options."""

    path: Path
    partition: int
    spec_sha256: str
    first_model_sha256: str
    version: str
    address: str
    manifest_sha256: str
    record: PromiseRecord
    people: int

    def pages(self, program: str) -> Iterator[list[PromisedOptions]]:
        """The promised options of the program, in the order of their applications; raise ``LedgerError``.

        Each page is a read of its own, because a long one keeps the worker's write-ahead log from being emptied. What
        opens meanwhile may be missing; nobody is read twice.
        """
        last = ""
        while True:
            with _reading(self.path) as db:
                rows = db.execute(_PAGE, (program, last, PEOPLE_A_PAGE)).fetchall()
                page = [_decode_options(without_checksum(body)) for _, body in rows]
            if page:
                yield page
            if len(rows) < PEOPLE_A_PAGE:
                return
            last = rows[-1][0]


def program_ledgers(state_dirs: Iterable[Path], program: str) -> list[ProgramLedger]:
    """The ledgers of the folders that hold a program, of each journal partition the one with the newest owner.

    Raise ``LedgerError`` where a folder has no ledger, one cannot be read or is empty, or none holds the program.
    """
    folders, newest = list(state_dirs), dict[tuple[str, int], tuple[tuple[int, int], ProgramLedger]]()
    for folder in folders:
        paths = sorted(folder.glob("*.sqlite"))
        if not paths:
            raise LedgerError(f"there are no ledgers (*.sqlite) in {folder}: is it the worker's --state-dir?")
        for path in paths:
            with _reading(path) as db:
                if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise LedgerError(f"ledger {path} is empty: try again, in case a worker is just creating it")
                meta = _meta(path, db)
                found, owner = (
                    _program_ledger(path, meta["partition"], db, program),
                    (meta["generation"], meta["offset"]),
                )
            partition = meta["journal"], meta["partition"]
            if found is not None and (partition not in newest or newest[partition][0] < owner):
                newest[partition] = owner, found
    if not newest:
        raise LedgerError(f"no ledger in {', '.join(map(str, folders))} holds program {program!r}")
    return [found for _, (_, found) in sorted(newest.items())]


def _program_ledger(path: Path, partition: int, db: sqlite3.Connection, program: str) -> ProgramLedger | None:
    row = db.execute(_PROGRAM, (program,)).fetchone()
    if row is None:
        return None
    body = db.execute(_RECORD, (program,)).fetchone()
    record = PromiseRecord() if body is None else _decode_record(without_checksum(body[0]))
    [people] = db.execute(_PEOPLE, (program,)).fetchone()
    spec, first_model, version, address, sha256 = row
    return ProgramLedger(path, partition, spec, first_model, version, address, sha256, record, people)


def _meta(path: Path, db: sqlite3.Connection) -> dict[str, Any]:
    meta: dict[str, Any] = dict(db.execute("SELECT name, value FROM meta"))
    if meta["schema"] != SCHEMA_VERSION:
        raise LedgerError(f"ledger {path} has schema {meta['schema']}: this version reads {SCHEMA_VERSION}")
    return meta


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A read transaction: all that is read is of the same moment."""
    try:
        with closing(connected(path, "mode=ro")) as db:
            db.execute("BEGIN")
            yield db
    except (sqlite3.Error, KeyError, ValueError) as error:
        raise LedgerError(f"ledger {path} cannot be read: {error}") from error


_decode_record = record_decoder(PromiseRecord)
_decode_options = record_decoder(PromisedOptions)
_PROGRAM = "SELECT spec, first_model, version, manifest, sha256 FROM programs WHERE program = ?"
_RECORD = f"SELECT body FROM {PromiseState.table} WHERE program = ?"
_PEOPLE = f"SELECT count(*) FROM {PROMISED_OPTIONS.name} WHERE program = ?"
_PAGE = (
    f"SELECT application, body FROM {PROMISED_OPTIONS.name} "
    "WHERE program = ? AND application > ? ORDER BY application LIMIT ?"
)
