"""Checks, before a command begins its work, that its output can be written."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from ...errors import LedgerError, UsageError, writing
from ...private_folder import make_private


def check_file(flag: str, path: Path) -> None:
    """Raise ``UsageError`` unless a file can be written at ``path``; its folder is made when there is none."""
    with writing(f"{flag} {path}"):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder, name a file")
        if not path.exists():
            _write_in(path.parent)
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def make_new_folder(flag: str, folder: Path) -> None:
    """Make a folder, or take an empty one; raise ``UsageError`` where it holds something or cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        occupied = any(folder.iterdir())
    except OSError as error:
        raise UsageError(f"{flag} {folder}: cannot be used: {error.strerror}") from None
    if occupied:
        raise UsageError(f"{flag} {folder}: holds something already, name a new folder")


def check_state_dir(folder: Path) -> None:
    """Raise ``LedgerError`` unless ledgers can be written in the folder, which is made for its owner alone."""
    try:
        if not folder.exists():
            make_private(folder)
        _write_in(folder)
    except OSError as error:
        raise LedgerError(
            f"--state-dir {folder}: cannot be written: {error.strerror}; name a folder that this worker may write to"
        ) from None


def _write_in(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, f"{folder} is not a folder")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"0")
