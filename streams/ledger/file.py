"""Ledgers as files: copied while they are written, replaced, set aside.

A ledger's file has companions, ``-wal`` and ``-shm``, which belong to its content: SQLite would read the ``-wal`` of
one ledger into another. A file is therefore deleted before its companions, and they before another file comes. A crash
in between leaves no ledger, which can be rebuilt, and never a mixture.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ..errors import DamagedLedgerError, LedgerError
from ..private_folder import make_private_file
from ..topics import DAY_MS
from .checksum import ChecksumError

DAMAGED_KEPT = 2
"""Damaged ledgers of one journal partition that are kept for inspection; older ones are deleted."""

LEFT_DAYS = 7
"""How long ledgers are kept that are damaged, or that a worker does not own any more."""

DAMAGE_ERRORS = (UnicodeDecodeError, MemoryError, msgspec.MsgspecError, ChecksumError)
"""The errors of a damaged file beside SQLite's own: it asks for the memory that the file says, or a value cannot be
read."""

_DAMAGES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PAGES = 4096
"""Pages that are copied in one go: 16 MiB."""
_WAL, _SHM = "-wal", "-shm"
_COPY, _DAMAGED = ".copy", ".damaged-"
_COPY_NAME = r"\.[0-9a-f]{8}" + re.escape(_COPY)
_COPY_OF = re.compile(_COPY_NAME)
_OWN = re.compile(rf"({_COPY_NAME}|{re.escape(_DAMAGED)}\d{{8}}T\d{{6}}\.\d{{6}}Z)?({_WAL}|{_SHM})?", re.ASCII)
"""How the names go on, behind that of a ledger, of all files that are made here. Others are their operators' own."""


@contextmanager
def ledger_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file into a ``LedgerError`` that names it, ``DamagedLedgerError`` where it is damaged."""
    try:
        yield
    except OSError as error:
        raise LedgerError(f"ledger {path} cannot be opened: {error.strerror}; check --state-dir") from error
    except sqlite3.Error as error:
        # The low byte of an extended code is the primary code.
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGES:
            raise DamagedLedgerError(path, str(error)) from error
        raise LedgerError(
            f"ledger {path}: {error}; nothing is lost: look at the disk of --state-dir, then start the worker again"
        ) from error
    except DAMAGE_ERRORS as error:
        raise DamagedLedgerError(path, str(error) or type(error).__name__) from error


def connected(path: Path, query: str) -> sqlite3.Connection:
    """A connection with parameters in the query of the file's URI. Raise ``sqlite3.Error``."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?{query}", uri=True)


@contextmanager
def copy_beside(ledger: Path) -> Iterator[Path]:
    """A path for a copy of a ledger, on the same disk; a file that is there at the end is deleted."""
    copy = ledger.with_name(f"{ledger.name}.{secrets.token_hex(4)}{_COPY}")
    try:
        yield copy
    finally:
        copy.unlink(missing_ok=True)


def tidy(ledger: Path) -> None:
    """Delete the copies that a crash has left beside a ledger."""
    for copy in ledger.parent.glob(f"{ledger.name}.*{_COPY}"):
        if _COPY_OF.fullmatch(copy.name.removeprefix(ledger.name)):
            copy.unlink(missing_ok=True)


def copy_ledger(ledger: Path, copy: Path, look: Callable[[], None]) -> None:
    """Copy a ledger that may be written meanwhile, as of its newest commit. Raise ``OSError`` or ``sqlite3.Error``.

    It is one read transaction: writers go on, and the copy does not start over for them. ``look`` is called now and
    then; an exception of it ends the copy.
    """
    make_private_file(copy)
    with closing(connected(ledger, "mode=ro")) as source, closing(sqlite3.connect(copy)) as target:
        target.execute("PRAGMA journal_mode=OFF")
        target.execute("PRAGMA synchronous=OFF")
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        source.backup(target, pages=_PAGES, progress=lambda *_: look())


def size_bytes(ledger: Path) -> int:
    """The size of a ledger, with its write-ahead log."""
    return sum(part.stat().st_size for part in (ledger, ledger.with_name(ledger.name + _WAL)) if part.exists())


def file_stamp(ledger: Path) -> Sequence[tuple[int, int, int]]:
    """Inode, size and time of a ledger's files: another value after a write or a replacement; empty without a file."""
    stats = [part.stat() for part in (ledger, ledger.with_name(ledger.name + _WAL)) if part.exists()]
    return [(part.st_ino, part.st_size, part.st_mtime_ns) for part in stats if part.st_size]


def has_room(ledger: Path) -> bool:
    """Whether a copy takes at most half of the free space: it must not fill the disk."""
    return shutil.disk_usage(ledger.parent).free >= 2 * size_bytes(ledger)


def replace_by_migrated(copy: Path, ledger: Path) -> None:
    """Replace a ledger that is not open by its migrated copy, which is flushed to the disk already.

    The write-ahead log is emptied into the old ledger first, so that one rename is enough: a crash leaves one of both.
    Raise ``sqlite3.Error`` or ``LedgerError``; the old ledger is then as it was.
    """
    with closing(connected(ledger, "mode=rw")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    wal, shm = _companions(ledger)
    if wal.exists() and wal.stat().st_size:
        raise LedgerError(f"ledger {ledger} is open in another process: end it, then start the worker again")
    for companion in (wal, shm):
        companion.unlink(missing_ok=True)
    copy.replace(ledger)
    _flush_folder(ledger.parent)


def put_in_place(copy: Path, ledger: Path) -> None:
    """Replace the ledger, which must not be open, by a copy, which is flushed to the disk already."""
    for old in (ledger, *_companions(ledger)):
        old.unlink(missing_ok=True)
    copy.replace(ledger)
    _flush_folder(ledger.parent)


def _flush_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def set_damaged_aside(ledger: Path, now_ms: int) -> Path:
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


def delete_expired(folder: Path, journal: str, owned: Collection[int], now_ms: int) -> list[Path]:
    """Delete what nobody has written for ``LEFT_DAYS`` of a journal's ledgers; return what was deleted.

    That is damaged ledgers, copies, and the ledgers of partitions that are not ``owned``: another worker has them, or a
    snapshot or the journal gives them again. People who were forgotten since would stay in them. Files with other
    names, such as a copy that somebody has put there, stay.
    """
    named = re.compile(re.escape(journal) + r"-(\d+)\.sqlite(.*)")
    deleted = []
    for path in sorted(folder.iterdir()):
        match = named.fullmatch(path.name)
        if match is None or not _OWN.fullmatch(match[2]) or (int(match[1]) in owned and match[2] in ("", _WAL, _SHM)):
            continue
        ledger = path.with_name(path.name.removesuffix(_WAL).removesuffix(_SHM))
        written = [part.stat().st_mtime for part in (ledger, *_companions(ledger)) if part.exists()]
        if max(written, default=0.0) * 1000 < now_ms - LEFT_DAYS * DAY_MS:
            path.unlink(missing_ok=True)
            deleted.append(path)
    return deleted


def _companions(ledger: Path) -> tuple[Path, Path]:
    return ledger.with_name(ledger.name + _WAL), ledger.with_name(ledger.name + _SHM)
