"""Ledgers as files: copied while they are written, put in place, set aside.

A ledger's file has companions, ``-wal`` and ``-shm``, which belong to its content: SQLite would read the ``-wal`` of
one ledger into another. So a file goes before its companions, and they before another file comes: a crash between
leaves no ledger, which can be made anew, and never a mixture.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ..errors import DamagedLedgerError, LedgerError
from .checksum import ChecksumError

DAMAGED_KEPT = 2
"""Damaged ledgers of one journal partition that are left for somebody to look at; older ones are deleted."""

DAMAGE_ERRORS = (UnicodeDecodeError, MemoryError, msgspec.MsgspecError, ChecksumError)
"""What comes of a damaged file beside SQLite's own errors: it asks for as much memory as the file says,
or its contents cannot be read."""

_DAMAGES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PAGES = 4096
"""That are copied in one go: 16 MiB."""
_WAL, _SHM = "-wal", "-shm"
_COPY, _DAMAGED = ".copy", ".damaged-"


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Say what went wrong with which file."""
    try:
        yield
    except OSError as error:
        raise LedgerError(f"ledger {path} cannot be opened: {error.strerror}; check --state-dir") from error
    except sqlite3.Error as error:
        # The code's low byte says what, its others where.
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGES:
            raise DamagedLedgerError(path, str(error)) from error
        raise LedgerError(
            f"ledger {path}: {error}; nothing is lost: look at the disk of --state-dir, then start the worker again"
        ) from error
    except DAMAGE_ERRORS as error:
        raise DamagedLedgerError(path, str(error) or type(error).__name__) from error


def connected(path: Path, query: str) -> sqlite3.Connection:
    """A connection with what SQLite lets one say in the query of a file's address. Raise ``sqlite3.Error``."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?{query}", uri=True)


@contextmanager
def copy_beside(ledger: Path) -> Iterator[Path]:
    """A path for a copy of a ledger, on the same disk; what is there at the end is deleted."""
    copy = ledger.with_name(f"{ledger.name}.{secrets.token_hex(4)}{_COPY}")
    try:
        yield copy
    finally:
        copy.unlink(missing_ok=True)


def tidy(ledger: Path) -> None:
    """Delete the copies that a crash has left beside a ledger."""
    for copy in ledger.parent.glob(f"{ledger.name}.*{_COPY}"):
        copy.unlink(missing_ok=True)


def copy_ledger(ledger: Path, copy: Path, look: Callable[[], None]) -> None:
    """Copy a ledger that may be written meanwhile, as of its newest commit. Raise ``OSError`` or ``sqlite3.Error``.

    It is one read transaction: writers go on, and the copy is not begun again for their sake. What ``look`` raises now
    and then ends it.
    """
    with closing(connected(ledger, "mode=ro")) as source, closing(sqlite3.connect(copy)) as target:
        target.execute("PRAGMA journal_mode=OFF")
        target.execute("PRAGMA synchronous=OFF")
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        source.backup(target, pages=_PAGES, progress=lambda *_: look())


def size_bytes(ledger: Path) -> int:
    """The size of a ledger with what is not in its file yet."""
    return sum(part.stat().st_size for part in (ledger, ledger.with_name(ledger.name + _WAL)) if part.exists())


def look_of(ledger: Path) -> Sequence[tuple[int, int, int]]:
    """What is another when a ledger's file was written or replaced, or what is not in it yet; empty without a file."""
    found = [part.stat() for part in (ledger, ledger.with_name(ledger.name + _WAL)) if part.exists()]
    return [(part.st_ino, part.st_size, part.st_mtime_ns) for part in found if part.st_size]


def has_room(ledger: Path) -> bool:
    """Whether a copy takes no more than half of what is free: the disk must not fill up because of it."""
    return shutil.disk_usage(ledger.parent).free >= 2 * size_bytes(ledger)


def put_in_place(copy: Path, ledger: Path) -> None:
    """Let a copy become the ledger, which must not be open. The copy is on the disk already."""
    for old in (ledger, *_companions(ledger)):
        old.unlink(missing_ok=True)
    copy.replace(ledger)
    folder = os.open(ledger.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def set_aside(ledger: Path, now_ms: int) -> Path:
    """Rename a damaged ledger, which must not be open, and return its new name; delete older ones."""
    moment = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    aside = ledger.with_name(f"{ledger.name}{_DAMAGED}{moment}")
    ledger.rename(aside)
    for companion, moved in zip(_companions(ledger), _companions(aside), strict=True):
        if companion.exists():
            companion.rename(moved)
    damaged = [path for path in ledger.parent.glob(f"{ledger.name}{_DAMAGED}*") if path.name.endswith("Z")]
    for old in sorted(damaged)[:-DAMAGED_KEPT]:
        for path in (old, *_companions(old)):
            path.unlink(missing_ok=True)
    return aside


def _companions(ledger: Path) -> tuple[Path, Path]:
    return ledger.with_name(ledger.name + _WAL), ledger.with_name(ledger.name + _SHM)
