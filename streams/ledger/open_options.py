"""The open options of a program in the ledgers of its workers, read while the workers write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..engine.cases import Case
from ..engine.promises.promised_options import PROMISED_OPTIONS, PromisedOptions
from ..engine.promises.state import PromiseState
from ..errors import LedgerError
from ..programs.program import Program
from .array_codec import record_decoder
from .programs import in_force
from .reader import ledgers_in, meta_of, reading
from .states import decode_case

PEOPLE_A_PAGE = 2000


@dataclass(frozen=True)
class ProgramLedger:
    """A program in one ledger: its identity, current model, record of promises, how many people have promised options
    that are open, and how many ``cases`` there are."""

    path: Path
    partition: int
    spec_sha256: str
    first_model_sha256: str
    version: str
    address: str
    manifest_sha256: str
    record: PromiseState
    people: int
    cases: int

    def in_force(self, program: Program) -> Program:
        """The program with all specs that it has had here, of which one is the given one."""
        with reading(self.path) as db:
            return in_force(db, program)

    def case_pages(self, program: str) -> Iterator[list[Case]]:
        """The cases of the program, in the order in which they came; raise ``LedgerError``."""
        last = 0
        while True:
            with reading(self.path) as db:
                rows = db.execute(_CASES_PAGE, (program, last, PEOPLE_A_PAGE)).fetchall()
                page = [decode_case(body) for _, body in rows]
            if page:
                yield page
            if len(rows) < PEOPLE_A_PAGE:
                return
            last = rows[-1][0]

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
    [cases] = db.execute(_CASES, (program,)).fetchone()
    spec, first_model, version, address, sha256 = row
    return ProgramLedger(path, partition, spec, first_model, version, address, sha256, record, people, cases)


_decode_record = record_decoder(PromiseState)
_decode_options = record_decoder(PromisedOptions)
_PROGRAM = "SELECT spec, first_model, version, manifest, sha256 FROM programs WHERE program = ?"
_RECORD = f"SELECT body FROM {PromiseState.table} WHERE program = ?"
_PEOPLE = f"SELECT count(*) FROM {PROMISED_OPTIONS.name} WHERE program = ?"
_OWN_CASES = "FROM cases WHERE program = (SELECT id FROM programs WHERE program = ?)"
_CASES = f"SELECT count(*) {_OWN_CASES}"
_CASES_PAGE = f"SELECT rowid, body {_OWN_CASES} AND rowid > ? ORDER BY rowid LIMIT ?"
_PAGE = (
    f"SELECT application, body FROM {PROMISED_OPTIONS.name} "
    "WHERE program = ? AND application > ? ORDER BY application LIMIT ?"
)
