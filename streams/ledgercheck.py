"""Whether a ledger's file is whole: its pages, its indexes, and every value in them as this version reads it.

What passes can be loaded and folded. So a damage that ends a worker cannot end it again when it is started the next
time: the file does not pass, and is made anew from a snapshot that does, or from the journal.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from .cases import Case
from .errors import DamagedLedgerError
from .ledgerfile import DAMAGE_ERRORS, connected, told
from .ledgerschema import SCHEMA_VERSION, place_of
from .packing import unpack
from .sealing import unsealed
from .watermark import Decider

_decode_case = msgspec.msgpack.Decoder(Case).decode

_ROWS: Mapping[str, Any] = {
    "programs": tuple[int, str, Decider, str, str, str, str, str],
    "shards": tuple[str, int, int, str, bytes],
    "sources": tuple[str, int, int | None, Literal[0, 1], int | None],
    "watermarks": tuple[Decider, int],
    "waiting": tuple[
        int, int, str, str, Literal["decision", "outcome"], str, int, int, int, str | None, int | None, int, bytes
    ],
    "settled": tuple[str, str, int],
}
"""What the rows of a table are. SQLite itself takes any value in any column."""

_UNREADABLE = (None, sqlite3.SQLITE_ERROR)
"""The codes of errors which say here that text is not UTF-8, or that a table or a column is missing."""


class DamageError(Exception):
    """A file is no ledger, or a damaged one."""


class Standing(Struct, frozen=True):
    """What a ledger says of itself: its schema, its journal partition, and the next journal offset to fold."""

    schema: int
    journal: str
    partition: int
    offset: int
    generation: int


def examine(ledger: Path) -> bool:
    """Check a ledger that is not open; whether there is one. One of another schema is for whoever opens it to refuse.

    Raise ``DamagedLedgerError``, or ``LedgerError`` when it cannot be read.
    """
    with told(ledger):
        if not ledger.exists():
            return False
        try:
            with closing(connected(ledger, "mode=rw")) as db:
                # A worker that was killed while it made the ledger has left no tables.
                if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    _check(db)
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) not in _UNREADABLE:
                raise
            raise DamagedLedgerError(ledger, str(error)) from error
        except DamageError as error:
            raise DamagedLedgerError(ledger, str(error)) from error
    return True


def standing(copy: Path) -> Standing:
    """Check a ledger that nobody writes, and tell where it stands; raise ``DamageError``."""
    try:
        with closing(connected(copy, "mode=ro&immutable=1")) as db:
            return _check(db)
    except (sqlite3.Error, *DAMAGE_ERRORS) as error:
        raise DamageError(str(error) or type(error).__name__) from error


def _check(db: sqlite3.Connection) -> Standing:
    # All of one moment: a worker that was cut off may still write.
    db.execute("BEGIN")
    # Not quick_check, which takes an eighth of its time: an index that has lost a case would let it be begun again.
    found = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise DamageError(" ".join(found.split()))
    said = msgspec.convert(dict(db.execute("SELECT name, value FROM meta")), Standing)
    if said.schema == SCHEMA_VERSION:
        for table, row_type in _ROWS.items():
            for row in db.execute(f"SELECT * FROM {table}"):
                msgspec.convert(row, row_type)
        _check_programs(db)
        _check_cases(db)
    return said


def _check_programs(db: sqlite3.Connection) -> None:
    for table in ("shards", "waiting"):
        for (name,) in db.execute(f"SELECT DISTINCT program FROM {table} EXCEPT SELECT program FROM programs"):
            raise DamageError(f"table {table} tells of program {name!r}, which there is not")
    for program, shard, learner in db.execute("SELECT program, shard, learner FROM shards"):
        try:
            unpack(unsealed(learner))
        except ValueError as error:
            raise DamageError(f"what shard {shard} of program {program!r} has learned: {error}") from error


def _check_cases(db: sqlite3.Connection) -> None:
    names = dict(db.execute("SELECT id, program FROM programs"))
    for id, application, queue, due, body in db.execute("SELECT program, application, queue, due, body FROM cases"):
        case = _decode_case(unsealed(body))
        if (*case.key, *place_of(case)) != (names.get(id), application, queue, due):
            raise DamageError(f"case {application!r} is not the one that its row tells of")
