"""What a console does once in a while: a copy of its file elsewhere, and forgetting what has long ended."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

from ..errors import OnwardError, one_line
from ..ledger.file import copy_beside, copy_ledger, ledger_errors
from ..private_folder import make_private, make_private_file
from ..shared_files import appearing, file_system, make_folder
from .case_store import FILE, CaseStore
from .handles import FILE as KEYS_FILE

log = logging.getLogger(__name__)

EVERY_SECONDS = 86_400.0
RETRY_SECONDS = 600.0
COPIED = (FILE, KEYS_FILE)
"""What is copied: without its keys a copy names no case as before."""


class Backup:
    """Copies of a console's file and keys at an fsspec address. Raises ``UsageError`` where it is none."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._system, self._root = file_system("--backup", address)

    def fetch(self, folder: Path) -> bool:
        """Fetch file or keys where the folder lacks them; say whether it did. Raise ``OnwardError`` on a failure."""
        # A file belongs to its keys, so it comes with them.
        missing = COPIED if not (folder / FILE).exists() else () if (folder / KEYS_FILE).exists() else (KEYS_FILE,)
        make_private(folder)
        try:
            if not missing or not all(self._system.exists(f"{self._root}/{name}") for name in missing):
                return False
            for name in missing:
                make_private_file(folder / name)
                with self._system.open(f"{self._root}/{name}", "rb") as source, (folder / name).open("wb") as target:
                    shutil.copyfileobj(source, target)
        except OSError as error:
            raise OnwardError(f"--backup {self._address} cannot be read: {one_line(error)}") from None
        return True

    def keep(self, folder: Path) -> None:
        """Copy the file as of its newest commit, while it may be written. Raise ``OnwardError`` where that fails."""
        path = folder / FILE
        with ledger_errors(path), copy_beside(path) as copy:
            copy_ledger(path, copy, lambda: None)
            try:
                make_folder(self._system, self._root, self._root)
                for name, source in ((KEYS_FILE, folder / KEYS_FILE), (FILE, copy)):
                    with source.open("rb") as file, appearing(self._system, f"{self._root}/{name}") as target:
                        shutil.copyfileobj(file, target)
            except OSError as error:
                raise OnwardError(f"--backup {self._address} cannot be written: {one_line(error)}") from None


class Upkeep:
    """Does both, once a day, until it is told to stop; what fails is tried again."""

    def __init__(self, store: CaseStore, folder: Path, backup: Backup | None, keep_ms: int | None) -> None:
        self._store, self._folder, self._backup, self._keep_ms = store, folder, backup, keep_ms

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
        if self._keep_ms is not None:
            gone = self._store.forget_ended(now_ms - self._keep_ms)
            log.info("forgot %d cases that have long ended", gone)
        if self._backup is not None:
            self._backup.keep(self._folder)
