"""Whether a ledger's file is whole: its pages, its indexes, and every value in them as this version reads it.

What passes can be loaded and folded. So a damage that ends a worker cannot end it again when it is started the next
time: the file does not pass, and is made anew from a snapshot that does, or from the journal.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..engine.cases import Case
from ..engine.watermark import Decider
from ..errors import DamagedLedgerError
from .array_codec import unpack
from .checksum import without_checksum
from .file import DAMAGE_ERRORS, connected, told
from .schema import SCHEMA_VERSION, place_of

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


_STEPS = 100_000
"""Of SQLite's machine, between two looks whether a check is to stop: some ten thousand rows, tens of milliseconds.
Every look may wait 5 ms for Python's lock."""


class DamageError(Exception):
    """A file is no ledger, or a damaged one."""


class Standing(Struct, frozen=True):
    """What a ledger says of itself: its schema, its journal partition, and the next journal offset to fold."""

    schema: int
    journal: str
    partition: int
    offset: int
    generation: int


def examine(ledger: Path, stop: Event | None = None) -> bool:
    """Check a ledger that is not open; whether there is one. One of another schema is for whoever opens it to refuse.

    Raise ``DamagedLedgerError``, or ``LedgerError`` when it cannot be read or is told to ``stop``.
    """
    with told(ledger):
        if not ledger.exists():
            return False
        try:
            with _reading(ledger, "mode=rw", stop) as db:
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


def standing(copy: Path, stop: Event | None = None, *, values: bool = True) -> Standing:
    """Check a ledger that nobody writes, and tell where it stands; raise ``DamageError``, also when told to ``stop``.

    Without ``values`` its pages only are checked, in a tenth of the time.
    """
    try:
        with _reading(copy, "mode=ro&immutable=1", stop) as db:
            return _check(db) if values else _check_pages(db)
    except (sqlite3.Error, *DAMAGE_ERRORS) as error:
        raise DamageError(str(error) or type(error).__name__) from error


@contextmanager
def _reading(ledger: Path, query: str, stop: Event | None) -> Iterator[sqlite3.Connection]:
    with closing(connected(ledger, query)) as db:
        if stop is not None:
            db.set_progress_handler(stop.is_set, _STEPS)
        yield db


def _check(db: sqlite3.Connection) -> Standing:
    # All of one moment: a worker that was cut off may still write.
    db.execute("BEGIN")
    # Not quick_check, which takes an eighth of its time: an index that has lost a case would let it be begun again.
    said = _check_pages(db, "integrity_check")
    if said.schema == SCHEMA_VERSION:
        for table, row_type in _ROWS.items():
            for row in db.execute(f"SELECT * FROM {table}"):
                msgspec.convert(row, row_type)
        _check_programs(db)
        _check_cases(db)
    return said


def _check_pages(db: sqlite3.Connection, check: Literal["quick_check", "integrity_check"] = "quick_check") -> Standing:
    found = db.execute(f"PRAGMA {check}(1)").fetchone()[0]
    if found != "ok":
        raise DamageError(" ".join(found.split()))
    return msgspec.convert(dict(db.execute("SELECT name, value FROM meta")), Standing)


def _check_programs(db: sqlite3.Connection) -> None:
    for table in ("shards", "waiting"):
        for (name,) in db.execute(f"SELECT DISTINCT program FROM {table} EXCEPT SELECT program FROM programs"):
            raise DamageError(f"table {table} tells of program {name!r}, which there is not")
    for program, shard, learner in db.execute("SELECT program, shard, learner FROM shards"):
        try:
            unpack(without_checksum(learner))
        except ValueError as error:
            raise DamageError(f"what shard {shard} of program {program!r} has learned: {error}") from error


def _check_cases(db: sqlite3.Connection) -> None:
    names = dict(db.execute("SELECT id, program FROM programs"))
    for id, application, queue, due, body in db.execute("SELECT program, application, queue, due, body FROM cases"):
        case = _decode_case(without_checksum(body))
        if (*case.key, *place_of(case)) != (names.get(id), application, queue, due):
            raise DamageError(f"case {application!r} is not the one that its row tells of")
