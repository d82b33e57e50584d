"""Checks that a ledger's file is whole: its pages, its indexes, and every value in them as this version reads it.

A file that passes can be loaded and folded. Damage therefore ends a worker at most once. At the next start the file
fails this check and is replaced by a good snapshot, or rebuilt from the journal.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ...schemas.kinds import WatermarkName, kinds
from ..engine.cases import CASE_TIMERS, WAITS, timer_of
from ..engine.handlers import states
from ..engine.program_state import ProgramState
from ..engine.timing.timers import WAIT
from ..errors import DamagedLedgerError
from .array_codec import record_decoder, unpack
from .checksum import without_checksum
from .file import DAMAGE_ERRORS, connected, ledger_errors
from .schema import SCHEMA_VERSION
from .states import columns_of, decode_case

_OF_CASES = "('" + "', '".join(sorted(CASE_TIMERS)) + "')"
_ROWS: Mapping[str, Any] = {
    "programs": tuple[int, str, WatermarkName, str, str, str, str, str],
    "specs": tuple[str, int, bytes],
    "shards": tuple[str, int, int, str, bytes, int],
    "sources": tuple[str, int, int | None, Literal[0, 1], int | None, int | None],
    "watermarks": tuple[WatermarkName, int],
    "waiting": tuple[int, int, str, str, str, str, int, int, int, str | None, int | None, int, bytes],
    f"timers WHERE kind NOT IN {_OF_CASES}": tuple[int, str, int, int, str],
    "processed_events": tuple[str, str, int],
}
"""The types of the rows of a table. SQLite itself takes any value in any column.

The timers of cases are compared with the cases instead.
"""

_NAMING = ("specs", "shards", "waiting")
"""The tables whose rows name their program, beside those of the kinds of state."""

_UNREADABLE = (None, sqlite3.SQLITE_ERROR)
"""The error codes of text that is not UTF-8, and of a missing table or column."""


STEPS_BETWEEN_LOOKS = 100_000
"""Steps of SQLite's machine between two calls of the progress handler: about ten thousand rows, tens of milliseconds.
Each call may wait 5 ms for Python's lock."""


class LedgerCheckError(Exception):
    """A check found that a file is not a ledger, or is damaged."""


class LedgerMeta(Struct, frozen=True):
    """The identity of a ledger: schema, journal partition, next journal offset to fold, newest generation.

    ``engine`` is the version of the engine that folded it last, since the journal offset ``engine_since``.
    """

    schema: int
    journal: str
    partition: int
    offset: int
    generation: int
    engine: int = 0
    engine_since: int = 0


def check_ledger(ledger: Path, stop: Event | None = None) -> LedgerMeta | None:
    """Check a ledger that is not open, and return its identity; None without one. Opening it refuses another schema.

    Raise ``DamagedLedgerError``, or ``LedgerError`` when it cannot be read or ``stop`` is set.
    """
    with ledger_errors(ledger):
        if not ledger.exists():
            return None
        try:
            with _reading(ledger, "mode=rw", stop) as db:
                # A worker that was killed while it made the ledger has left no tables.
                if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    return _check(db)
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) not in _UNREADABLE:
                raise
            raise DamagedLedgerError(ledger, str(error)) from error
        except LedgerCheckError as error:
            raise DamagedLedgerError(ledger, str(error)) from error
    return None


def check_copy(copy: Path, stop: Event | None = None, *, values: bool = True) -> LedgerMeta:
    """Check a ledger that nobody writes and return its identity. Raise ``LedgerCheckError``, also when ``stop`` is set.

    Without ``values`` only its pages are checked, in a tenth of the time.
    """
    try:
        with _reading(copy, "mode=ro&immutable=1", stop) as db:
            return _check(db) if values else _check_pages(db)
    except (sqlite3.Error, *DAMAGE_ERRORS) as error:
        raise LedgerCheckError(str(error) or type(error).__name__) from error


@contextmanager
def _reading(ledger: Path, query: str, stop: Event | None) -> Iterator[sqlite3.Connection]:
    with closing(connected(ledger, query)) as db:
        if stop is not None:
            db.set_progress_handler(stop.is_set, STEPS_BETWEEN_LOOKS)
        yield db


def _check(db: sqlite3.Connection) -> LedgerMeta:
    # One read transaction: a worker that was cut off may still write.
    db.execute("BEGIN")
    # ``quick_check`` takes an eighth of the time, but does not compare indexes with tables. If the index misses a case,
    # its application would be opened a second time.
    meta = _check_pages(db, "integrity_check")
    if meta.schema == SCHEMA_VERSION:
        for name, types in _ROWS.items():
            for row in db.execute(f"SELECT * FROM {name}"):
                msgspec.convert(row, types)
        _check_programs(db)
        for kind in states.values():
            _check_states(db, kind)
        _check_cases(db)
    return meta


def _check_pages(
    db: sqlite3.Connection, check: Literal["quick_check", "integrity_check"] = "quick_check"
) -> LedgerMeta:
    result = db.execute(f"PRAGMA {check}(1)").fetchone()[0]
    if result != "ok":
        raise LedgerCheckError(" ".join(result.split()))
    return msgspec.convert(dict(db.execute("SELECT name, value FROM meta")), LedgerMeta)


def _check_programs(db: sqlite3.Connection) -> None:
    for table in _NAMING:
        _check_names(db, table)
    for (id,) in db.execute("SELECT DISTINCT program FROM timers EXCEPT SELECT id FROM programs"):
        raise LedgerCheckError(f"table timers names program {id}, which does not exist")
    for program, number, body in db.execute("SELECT program, number, body FROM specs"):
        _decoded(_spec, body, "spec", number, "of program", program)
    for program, shard, learner in db.execute("SELECT program, shard, learner FROM shards"):
        _decoded(unpack, learner, "what was learned by shard", shard, "of program", program)
    for name, event in db.execute("SELECT kind, payload FROM waiting"):
        if name not in {kind.name for kind in kinds}:
            raise LedgerCheckError(f"an event of kind {name!r} waits, which does not exist")
        kinds[name].decode_body(event)


def _check_states(db: sqlite3.Connection, kind: type[ProgramState]) -> None:
    """The values of a kind of state, and its rows: each is the one that its columns say."""
    _check_names(db, kind.table)
    for row in db.execute(f"SELECT * FROM {kind.table}"):
        program, _, body = msgspec.convert(row, tuple[str, int, bytes])
        _decoded(record_decoder(kind), body, "table", kind.table, "of program", program)
    for table in kind.rows:
        _check_names(db, table.name)
        decode = record_decoder(table.struct)
        for program, application, *columns, body in db.execute(f"SELECT * FROM {table.name}"):
            row = _decoded(decode, msgspec.convert(body, bytes), "table", table.name, "of program", program)
            if (row.key, columns) != ((program, application), columns_of(table, row)):
                raise LedgerCheckError(f"table {table.name}: the row of {application!r} is not the one that it names")


def _check_names(db: sqlite3.Connection, table: str) -> None:
    for (name,) in db.execute(f"SELECT DISTINCT program FROM {table} EXCEPT SELECT program FROM programs"):
        raise LedgerCheckError(f"table {table} names program {name!r}, which does not exist")


def _spec(body: bytes) -> Any:
    return msgspec.json.decode(without_checksum(body))


def _decoded(decode: Callable[[bytes], Any], body: bytes, *where: object) -> Any:
    try:
        return decode(body)
    except ValueError as error:
        raise LedgerCheckError(f"{' '.join(map(str, where))}: {error}") from error


def _check_cases(db: sqlite3.Connection) -> None:
    names = dict(db.execute("SELECT id, program FROM programs"))
    # Sums of hashes compare the timers that are there with those that should be there, in any order and little memory.
    expected = 0
    for id, application, body, pooled in db.execute("SELECT program, application, body, pooled FROM cases"):
        case = decode_case(body)
        if case.key != (names.get(id), application):
            raise LedgerCheckError(f"case {application!r} is not the one that its row names")
        if pooled != WAITS[case.status].pooled:
            raise LedgerCheckError(f"case {application!r} is {case.status.name}, its row says pooled = {pooled}")
        expected += hash((id, *timer_of(case)[1:]))
    timers = db.execute(f"SELECT program, kind, shard, due, key FROM timers WHERE kind IN {_OF_CASES}")
    if sum(map(hash, timers)) != expected:
        raise LedgerCheckError("the timers of the cases are not those that follow from the cases")
    [(waits, waiting)] = db.execute(
        "SELECT (SELECT count(*) FROM timers WHERE kind = ?), count(*) FROM waiting", (WAIT,)
    )
    if waits != waiting:
        raise LedgerCheckError(f"{waits} timers give up waiting events, and {waiting} wait")
