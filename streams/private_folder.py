"""Folders and files for what people have sent: ledgers and their snapshots."""

from __future__ import annotations

import os
from pathlib import Path

_OWNER_ONLY = 0o700
_FILE_OF_OWNER_ONLY = 0o600


def make_private(folder: Path) -> None:
    """Create a folder that only its owner can read, and its parents as usual; leave one that exists as it is."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=_OWNER_ONLY, exist_ok=True)


def make_private_file(path: Path) -> None:
    """Create an empty file that only its owner can read; leave one that exists as it is.

    SQLite gives the companions of a ledger the mode of its file.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, _FILE_OF_OWNER_ONLY))
