"""The snapshot store: copies of ledgers at an fsspec address, so that a worker need not fold the whole journal.

    snapshots = Snapshots("s3://bucket/onward", keep=3)
    snapshot = snapshots.send(Path("state/journal-3.sqlite"), TopicPartition("journal", 3), now_ms, stop)
    snapshots.enlist(snapshot)
    newest, *older = snapshots.listed(TopicPartition("journal", 3))
    snapshots.fetch(newest, Path("state/copy"), stop)

``ADDRESS/JOURNAL-PARTITION/`` holds ledgers named after their journal offset and content, and ``snapshots.json``, which
lists the valid ones, newest first. A snapshot is added in this order, so that a crash leaves the earlier ones:
    1. the ledger is copied beside itself, in one read transaction, and checked;
    2. the copy is sent to the address;
    3. ``snapshots.json`` is replaced by one that lists it;
    4. files that are no longer listed are deleted, and those that a crash has left.

All calls block: run them in a thread. ``stop`` ends them early, with a ``SnapshotError``.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from ...schemas.problems import JSON_ERRORS
from ..errors import one_line
from ..ledger.check import LedgerCheckError, LedgerMeta, check_copy
from ..ledger.file import copy_beside, copy_ledger, has_room
from ..private_folder import make_private_file
from ..records import TopicPartition
from ..shared_files import appearing, file_system, make_folder

log = logging.getLogger(__name__)

LIST_FILE = "snapshots.json"
LARGEST_LIST_BYTES = 1 << 20
BLOCK_BYTES = 4 << 20
PROGRESS_SECONDS = 5.0

_DATA = re.compile(r"(\d{20})-[0-9a-f]{16}\.sqlite(\.[0-9a-f]+\.part)?")


class SnapshotError(Exception):
    """A snapshot cannot be taken or is refused. Earlier snapshots and the journal remain."""


class _MissingError(SnapshotError):
    """A file does not exist."""


class Snapshot(Struct, frozen=True):
    """A copy of a ledger. ``size`` is in bytes, ``taken_ms`` since the epoch."""

    file: Annotated[str, Meta(pattern=r"^\d{20}-[0-9a-f]{16}\.sqlite$")]
    size: int
    sha256: str
    taken_ms: int
    ledger: LedgerMeta

    @property
    def journal(self) -> TopicPartition:
        """Its journal partition."""
        return TopicPartition(self.ledger.journal, self.ledger.partition)


class _SnapshotList(Struct, frozen=True):
    snapshots: list[Snapshot]


class Snapshots:
    """The snapshots of all journal partitions at one address; the newest ``keep`` of each are kept."""

    def __init__(self, address: str, keep: int) -> None:
        self._system, self._root = file_system("--snapshots", address)
        self._keep = keep

    def listed(self, journal: TopicPartition) -> list[Snapshot]:
        """The snapshots of a journal partition, newest first; none when there is no list or it is malformed.

        Raise ``SnapshotError`` when the address cannot be read.
        """
        path = self._path(journal, LIST_FILE)
        try:
            with _store_errors(path), self._system.open(path, "rb") as file:
                content = file.read(LARGEST_LIST_BYTES)
            snapshots = msgspec.json.decode(content, type=_SnapshotList).snapshots
        except _MissingError:
            return []
        except JSON_ERRORS as error:
            log.warning("list of snapshots %s cannot be understood and is left out: %s", path, error)
            return []
        for snapshot in snapshots:
            if snapshot.journal != journal:
                log.warning("snapshot %s of %s is refused: it is of %s-%d", snapshot.file, path, *snapshot.journal)
        of_journal = (snapshot for snapshot in snapshots if snapshot.journal == journal)
        return sorted(of_journal, key=_newness, reverse=True)

    def send(self, ledger: Path, journal: TopicPartition, now_ms: int, stop: Event, *, values: bool = True) -> Snapshot:
        """Send a copy of a ledger that may be written meanwhile; raise ``SnapshotError``.

        Without ``values`` only its pages are checked; ``fetch`` checks all of a snapshot before it is used.
        """
        with copy_beside(ledger) as copy:
            # Step 1: copy and check. A damaged copy must not replace a good one.
            snapshot = _copied(ledger, copy, now_ms, stop, values=values)
            if snapshot.journal != journal:
                raise SnapshotError(f"ledger {ledger} is of {snapshot.journal}, not of {journal}")
            self._kept(journal, snapshot)
            # Step 2: send.
            self._send(copy, self._path(journal, snapshot.file), stop)
        return snapshot

    def enlist(self, snapshot: Snapshot) -> None:
        """List a snapshot that was sent, and delete files that are no longer listed; raise ``SnapshotError``."""
        journal = snapshot.journal
        # Step 3: list. Another worker may have changed the list meanwhile.
        kept = self._kept(journal, snapshot)
        self._list(journal, kept)
        # Step 4: tidy.
        self._tidy(journal, kept)

    def fetch(self, snapshot: Snapshot, target: Path, stop: Event) -> None:
        """Write a snapshot to ``target`` and through to the disk.

        Raise ``SnapshotError`` unless it matches the list, ``OSError`` when ``target`` cannot be written.
        """
        digest, size = hashlib.sha256(), 0
        make_private_file(target)
        with target.open("wb") as file:
            for block in self._blocks(snapshot, stop):
                size += len(block)
                digest.update(block)
                if size <= snapshot.size:
                    file.write(block)
            file.flush()
            os.fsync(file.fileno())
        if size != snapshot.size:
            raise SnapshotError(f"it has {size} bytes, not {snapshot.size}")
        if digest.hexdigest() != snapshot.sha256:
            raise SnapshotError(f"its sha256 is {digest.hexdigest()}, not {snapshot.sha256}")
        if _checked_meta(target, stop) != snapshot.ledger:
            raise SnapshotError("its ledger does not match the entry in snapshots.json")

    def _kept(self, journal: TopicPartition, snapshot: Snapshot) -> list[Snapshot]:
        """The snapshots to list, with a new one among them, newest first; ``SnapshotError`` if it is too old."""
        offset = snapshot.ledger.offset
        others = [known for known in self.listed(journal) if known.ledger.offset != offset]
        kept = sorted([snapshot, *others], key=_newness, reverse=True)[: self._keep]
        if snapshot not in kept:
            raise SnapshotError(
                f"{LIST_FILE} already lists {len(kept)} snapshots at later offsets than {offset}, "
                "taken by another worker"
            )
        return kept

    # --- the address ---------------------------------------------------------------------------------------------

    def _path(self, journal: TopicPartition, name: str) -> str:
        return f"{self._folder(journal)}/{name}"

    def _folder(self, journal: TopicPartition) -> str:
        return f"{self._root}/{journal.topic}-{journal.partition}"

    def _send(self, copy: Path, path: str, stop: Event) -> None:
        progress = _Progress("sent", path, copy.stat().st_size)
        with _store_errors(path):
            make_folder(self._system, self._root, path.rpartition("/")[0])
            with copy.open("rb") as source, appearing(self._system, path) as file:
                while block := source.read(BLOCK_BYTES):
                    _check(stop)
                    file.write(block)
                    progress.add(len(block))
            self._system.invalidate_cache(path)
            size = self._system.info(path)["size"]
        if size != progress.total:
            raise SnapshotError(f"{path} has {size} bytes, {progress.total} were sent")

    def _list(self, journal: TopicPartition, snapshots: list[Snapshot]) -> None:
        path = self._path(journal, LIST_FILE)
        content = msgspec.json.format(msgspec.json.encode(_SnapshotList(snapshots))) + b"\n"
        with _store_errors(path), appearing(self._system, path) as file:
            file.write(content)

    def _blocks(self, snapshot: Snapshot, stop: Event) -> Iterator[bytes]:
        """A snapshot's content, or a little more if the file is larger than listed."""
        path = self._path(snapshot.journal, snapshot.file)
        progress = _Progress("fetched", path, snapshot.size)
        with _store_errors(path), self._system.open(path, "rb", block_size=BLOCK_BYTES) as source:
            while progress.done <= snapshot.size and (block := source.read(BLOCK_BYTES)):
                _check(stop)
                progress.add(len(block))
                yield block

    def _tidy(self, journal: TopicPartition, kept: Sequence[Snapshot]) -> None:
        """Delete files that are not listed, except those of later offsets: another worker may be sending them."""
        names, newest = {snapshot.file for snapshot in kept}, kept[0].ledger.offset
        folder = self._folder(journal)
        with _store_errors(folder):
            self._system.invalidate_cache(folder)
            for path in self._system.ls(folder, detail=False):
                name = str(path).rpartition("/")[2]
                data = _DATA.fullmatch(name)
                if data and name not in names and int(data[1]) <= newest:
                    self._system.rm_file(path)


class _Progress:
    """Logs the progress of a large file now and then."""

    def __init__(self, action: str, path: str, total: int) -> None:
        self.total, self.done = total, 0
        self._action, self._path = action, path
        self._next = monotonic() + PROGRESS_SECONDS

    def add(self, size: int) -> None:
        self.done += size
        if monotonic() > self._next:
            self._next = monotonic() + PROGRESS_SECONDS
            log.info("%s %d of %d MB of %s", self._action, self.done / 1e6, self.total / 1e6, self._path)


def _copied(ledger: Path, copy: Path, now_ms: int, stop: Event, *, values: bool) -> Snapshot:
    try:
        if not has_room(ledger):
            raise SnapshotError(f"a copy would take more than half of what is free in {ledger.parent}")
        copy_ledger(ledger, copy, partial(_check, stop))
        meta = _checked_meta(copy, stop, values=values)
        digest = hashlib.sha256()
        with copy.open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                _check(stop)
                digest.update(block)
        sha256 = digest.hexdigest()
        return Snapshot(f"{meta.offset:020}-{sha256[:16]}.sqlite", copy.stat().st_size, sha256, now_ms, meta)
    except (OSError, sqlite3.Error) as error:
        raise SnapshotError(f"{ledger} cannot be copied: {one_line(error)}") from error


def _checked_meta(copy: Path, stop: Event, *, values: bool = True) -> LedgerMeta:
    try:
        return check_copy(copy, stop, values=values)
    except LedgerCheckError as error:
        _check(stop)
        raise SnapshotError(f"its ledger is damaged: {error}") from error


def _newness(snapshot: Snapshot) -> int:
    return snapshot.ledger.offset


def _check(stop: Event) -> None:
    if stop.is_set():
        raise SnapshotError("it was stopped before it was complete")


@contextmanager
def _store_errors(path: str) -> Iterator[None]:
    """Turn the errors of any file system into ``SnapshotError``."""
    try:
        yield
    except SnapshotError:
        raise
    except FileNotFoundError as error:
        raise _MissingError(f"{path} is missing") from error
    except Exception as error:
        raise SnapshotError(f"{path}: {one_line(error)}") from error
