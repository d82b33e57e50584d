"""Ledgers from which a command can fold a journal on: snapshots, and the checkpoints of an archive."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from threading import Event
from typing import NamedTuple

from ...archive.reading import fetch_checked
from ...archive.store import Archive, ArchiveError
from ...errors import LedgerError, UsageError
from ...ledger.migrations import MigrationError, migrate_copy
from ...records import TopicPartition
from ...snapshots.store import SnapshotError, Snapshots
from .kept_journal import archive_errors


class KeptLedger(NamedTuple):
    """A ledger that stands at a journal offset. ``fetch`` copies it, and refuses it where it is not good."""

    name: str
    offset: int
    fetch: Callable[[Path], None]


def kept_snapshots(address: str, journal: TopicPartition) -> list[KeptLedger]:
    """The snapshots of a journal partition, oldest first; raise ``UsageError`` where they cannot be read."""
    snapshots = Snapshots(address, keep=1)
    try:
        listed = snapshots.listed(journal)
    except SnapshotError as error:
        raise UsageError(f"--snapshots {error}") from error
    return [
        KeptLedger(
            f"snapshot {snapshot.file}", snapshot.ledger.offset, partial(snapshots.fetch, snapshot, stop=Event())
        )
        for snapshot in reversed(listed)
    ]


def kept_checkpoints(archive: Archive, journal: TopicPartition) -> list[KeptLedger]:
    """The checkpoints of a journal partition, oldest first; raise ``UsageError`` where they cannot be read."""
    with archive_errors():
        there = archive.checkpoints(journal)
    return [
        KeptLedger(
            f"checkpoint {checkpoint.name}",
            checkpoint.offset,
            partial(fetch_checked, archive, checkpoint, stop=Event()),
        )
        for checkpoint in there
    ]


def fetch_first_good(kept: Iterable[KeptLedger], target: Path) -> KeptLedger | None:
    """Copy the first good one to ``target``, in today's schema; None without one. A refused one is told on stderr."""
    for ledger in kept:
        try:
            ledger.fetch(target)
        except (SnapshotError, ArchiveError) as error:
            print(f"{ledger.name} is refused: {error}", file=sys.stderr)
            target.unlink(missing_ok=True)
            continue
        migrate(ledger.name, target)
        return ledger
    return None


def migrate(name: str, copy: Path) -> None:
    """Bring a copy of a ledger to today's schema; raise ``LedgerError``."""
    try:
        migrate_copy(copy)
    except MigrationError as error:
        raise LedgerError(f"{name} cannot be upgraded: {error}") from error
