"""The lock on a state folder: one worker at a time may keep ledgers in it."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import LedgerError
from ..private_folder import make_private

log = logging.getLogger(__name__)

LOCK_FILE = "worker.lock"
"""Stays in the folder. It holds the id of the process that locked it last."""


@contextmanager
def lock_state(folder: Path) -> Iterator[None]:
    """Keep the folder locked while the context lasts; raise ``LedgerError`` when another worker has it.

    The operating system releases the lock when the process ends, however it ends. Where the file system has no locks,
    a warning is logged.
    """
    path = folder / LOCK_FILE
    try:
        make_private(folder)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise LedgerError(f"--state-dir {folder}: {path.name} cannot be opened: {error.strerror}") from error
    try:
        _lock(descriptor, folder)
        if folder.stat().st_mode & stat.S_IROTH:
            log.warning("%s: other users of this machine can read the personal data in it: chmod 700", folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            owner = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "unknown"
            raise LedgerError(
                f"--state-dir {folder}: another worker (process {owner}) keeps its ledgers there: give every worker "
                "a folder of its own, or end that worker first"
            ) from None
        log.warning("%s cannot be locked (%s): take care that no two workers share it", folder, error.strerror)
        return
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
