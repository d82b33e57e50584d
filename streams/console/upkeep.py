"""What a console does once in a while: a copy of its file elsewhere, and forgetting what has long ended."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from ..errors import DamagedLedgerError, LedgerError, OnwardError, one_line
from ..ledger.file import (
    connected,
    copy_beside,
    copy_ledger,
    has_room,
    ledger_errors,
    put_in_place,
    tidy,
)
from ..private_folder import make_private, make_private_file
from ..shared_files import appearing, file_system, make_folder
from .case_store import FILE, CaseStore
from .handles import FILE as KEYS_FILE
from .handles import keys_of

log = logging.getLogger(__name__)

EVERY_SECONDS = 86_400.0
RETRY_SECONDS = 600.0
LIST_FILE = "console.json"
_COPY = re.compile(r"console-[0-9a-f]{16}\.sqlite(\.[0-9a-f]{8}\.part)?")


class _Copy(Struct, frozen=True):
    """The copy that an address holds: the name of its file and its bytes, the keys, and what was read into it.

    ``began`` is that of the file, ``following`` the offset behind what was read of each partition.
    """

    file: str
    size: int
    keys: Sequence[str]
    began: str
    following: Mapping[str, int]


class Backup:
    """Copies of a console's file and keys at an fsspec address. Raises ``UsageError`` where it is none.

    A copy has a name of its own, and counts once ``console.json`` names it, with its keys.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._system, self._root = file_system("--backup", address)

    def fetch(self, folder: Path) -> bool:
        """Fetch file or keys where the folder lacks them; say whether it did. Raise ``OnwardError`` on a failure."""
        path, keys = folder / FILE, folder / KEYS_FILE
        make_private(folder)
        for left in (path, keys):
            tidy(left)
        is_gone = not path.exists() or not path.stat().st_size  # SQLite reads no log without its file
        if not is_gone and keys.exists():
            return False
        with self._errors("read"), copy_beside(path) as copy:
            listed = self._listed()
            if listed is None:
                return False
            if is_gone:
                self._download(listed, copy)
            # A file belongs to its keys, so they are there before it.
            own = keys_of(folder).secrets if keys.exists() else []
            with copy_beside(keys) as merged:
                with _flushed(merged) as file:
                    file.write("".join(f"{key}\n" for key in dict.fromkeys((*listed.keys, *own))).encode())
                merged.replace(keys)
            if is_gone:
                put_in_place(copy, path)
        return True

    def keep(self, folder: Path) -> None:
        """Copy the file as of its newest commit, while it may be written. Raise ``OnwardError`` where that fails."""
        path = folder / FILE
        with ledger_errors(path), copy_beside(path) as copy:
            if not has_room(path):
                raise LedgerError(f"a copy of {path} would take more than half of what is free there")
            with self._errors("written"):
                make_folder(self._system, self._root, self._root)
                if (kept := self._listed()) is not None:
                    _check(path, kept)
                    self._tidy(kept)
            copy_ledger(path, copy, lambda: None)
            if damage := _damage_of(copy):
                raise DamagedLedgerError(path, damage)
            name, keys = f"console-{secrets.token_hex(8)}.sqlite", keys_of(folder, is_new=False).secrets
            made = _Copy(name, copy.stat().st_size, keys, *_contents(copy, "mode=ro&immutable=1"))
            with self._errors("written"):
                self._send(made, copy)
                self._tidy(made)

    def _listed(self) -> _Copy | None:
        """The copy that is there; None without one."""
        self._system.invalidate_cache()
        try:
            with self._system.open(f"{self._root}/{LIST_FILE}", "rb") as file:
                return msgspec.json.decode(file.read(), type=_Copy)
        except FileNotFoundError:
            return None

    def _download(self, listed: _Copy, copy: Path) -> None:
        with self._system.open(f"{self._root}/{listed.file}", "rb") as source, _flushed(copy) as target:
            shutil.copyfileobj(source, target)
        if copy.stat().st_size != listed.size:
            raise OnwardError(f"{listed.file} has {copy.stat().st_size} bytes, not {listed.size}")

    def _send(self, made: _Copy, copy: Path) -> None:
        with copy.open("rb") as source, appearing(self._system, f"{self._root}/{made.file}") as target:
            shutil.copyfileobj(source, target)
        with appearing(self._system, f"{self._root}/{LIST_FILE}") as file:
            file.write(msgspec.json.encode(made))

    def _tidy(self, listed: _Copy) -> None:
        """Delete files that are not listed: former ones, and those that a failure or a kill has left."""
        self._system.invalidate_cache()
        try:
            files = self._system.ls(self._root, detail=False)
        except FileNotFoundError:  # object stores have no empty folder
            return
        for found in files:
            name = str(found).rpartition("/")[2]
            if _COPY.fullmatch(name) and name != listed.file:
                self._system.rm_file(found)

    @contextmanager
    def _errors(self, done: str) -> Iterator[None]:
        """Turn the errors of any file system into an ``OnwardError`` that names the address."""
        try:
            yield
        except Exception as error:
            raise OnwardError(f"--backup {self._address} cannot be {done}: {one_line(error)}") from None


@contextmanager
def _flushed(path: Path) -> Iterator[IO[bytes]]:
    """A file of its owner alone to write, which is on the disk afterwards."""
    make_private_file(path)
    with path.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _check(path: Path, kept: _Copy) -> None:
    """Refuse to replace a copy by that of a file which holds less."""
    began, following = _contents(path, "mode=ro")
    if kept.began != began:
        raise OnwardError(f"it holds the copy of another console than {path}: give another address")
    if any(following.get(partition, 0) < offset for partition, offset in kept.following.items()):
        raise OnwardError(f"{path} has read less than the copy that is there")


def _damage_of(copy: Path) -> str | None:
    """What is damaged in a copy, which nobody else has open; None of a good one."""
    with closing(connected(copy, "mode=ro&immutable=1")) as db:
        [found] = db.execute("PRAGMA quick_check(1)").fetchone()
    return None if found == "ok" else str(found)


def _contents(file: Path, how: str) -> tuple[str, Mapping[str, int]]:
    """When a file began, and how far it has read each partition."""
    with closing(connected(file, how)) as db:
        [began] = db.execute("SELECT coalesce(max(value), '') FROM meta WHERE name = 'began'").fetchone()
        rows = db.execute("SELECT topic, partition, next FROM partitions").fetchall()
    return began, {f"{topic}/{partition}": offset for topic, partition, offset in rows}


class Upkeep:
    """Does both, once a day, until it is told to stop; what fails is tried again."""

    def __init__(self, store: CaseStore, folder: Path, backup: Backup | None, keep_ms: int | None) -> None:
        self._store, self._folder, self._backup, self._keep_ms = store, folder, backup, keep_ms
        self._forgot_ms = 0

    def run(self, stop: threading.Event, now: Callable[[], float] = time.time) -> None:
        """Go on until ``stop``. ``now`` gives the seconds since the epoch."""
        while not stop.is_set():
            try:
                self._do(round(now() * 1000))
                stop.wait(EVERY_SECONDS)
            except OnwardError as error:
                log.warning("%s; trying again", one_line(error))
                stop.wait(RETRY_SECONDS)

    def _do(self, now_ms: int) -> None:
        # Not again with each try of a copy that fails: it looks at every case.
        if self._keep_ms is not None and now_ms - self._forgot_ms > EVERY_SECONDS * 500:
            gone = self._store.forget_ended(now_ms - self._keep_ms)
            log.info("forgot %d cases that have long ended", gone)
            self._forgot_ms = now_ms
        if self._backup is not None:
            self._backup.keep(self._folder)
