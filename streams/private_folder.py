"""Folders for what people have sent: ledgers and their snapshots."""

from __future__ import annotations

from pathlib import Path

_OWNER_ONLY = 0o700


def make_private(folder: Path) -> None:
    """Create a folder that only its owner can read, and its parents as usual; leave one that exists as it is."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=_OWNER_ONLY, exist_ok=True)
