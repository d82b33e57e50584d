"""The open options of a program in the ledgers of its workers, read while the workers write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..engine.promises.promised_options import PROMISED_OPTIONS, PromisedOptions
from ..engine.promises.state import PromiseState
from ..errors import LedgerError
from .array_codec import record_decoder
from .reader import ledgers_in, meta_of, reading

PEOPLE_A_PAGE = 2000


@dataclass(frozen=True)
class ProgramLedger:
    """A program in one ledger: its identity, current model, record of promises, and how many people have
    open options."""

    path: Path
    partition: int
    spec_sha256: str
    first_model_sha256: str
    version: str
    address: str
    manifest_sha256: str
    record: PromiseState
    people: int

    def pages(self, program: str) -> Iterator[list[PromisedOptions]]:
        """The promised options of the program, in the order of their applications; raise ``LedgerError``.

        Each page is a read of its own, because a long one keeps the worker's write-ahead log from being emptied. What
        opens meanwhile may be missing; nobody is read twice.
        """
        last = ""
        while True:
            with reading(self.path) as db:
                rows = db.execute(_PAGE, (program, last, PEOPLE_A_PAGE)).fetchall()
                page = [_decode_options(body) for _, body in rows]
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
    for path in (path for folder in folders for path in ledgers_in(folder)):
        with reading(path) as db:
            meta = meta_of(path, db)
            if meta is None:
                raise LedgerError(f"ledger {path} is empty: try again, in case a worker is just creating it")
            ledger, owner = _program_ledger(path, meta["partition"], db, program), (meta["generation"], meta["offset"])
        partition = meta["journal"], meta["partition"]
        if ledger is not None and (partition not in newest or newest[partition][0] < owner):
            newest[partition] = owner, ledger
    if not newest:
        raise LedgerError(f"no ledger in {', '.join(map(str, folders))} holds program {program!r}")
    return [ledger for _, (_, ledger) in sorted(newest.items())]


def _program_ledger(path: Path, partition: int, db: sqlite3.Connection, program: str) -> ProgramLedger | None:
    row = db.execute(_PROGRAM, (program,)).fetchone()
    if row is None:
        return None
    body = db.execute(_RECORD, (program,)).fetchone()
    record = PromiseState() if body is None else _decode_record(body[0])
    [people] = db.execute(_PEOPLE, (program,)).fetchone()
    spec, first_model, version, address, sha256 = row
    return ProgramLedger(path, partition, spec, first_model, version, address, sha256, record, people)


_decode_record = record_decoder(PromiseState)
_decode_options = record_decoder(PromisedOptions)
_PROGRAM = "SELECT spec, first_model, version, manifest, sha256 FROM programs WHERE program = ?"
_RECORD = f"SELECT body FROM {PromiseState.table} WHERE program = ?"
_PEOPLE = f"SELECT count(*) FROM {PROMISED_OPTIONS.name} WHERE program = ?"
_PAGE = (
    f"SELECT application, body FROM {PROMISED_OPTIONS.name} "
    "WHERE program = ? AND application > ? ORDER BY application LIMIT ?"
)
