"""Ledger recovery: opens the ledger of a newly assigned journal partition.

In this order:
    1. the worker's own file, unless it is damaged;
    2. the newest good snapshot, if it is ahead of that file;
    3. an empty ledger, into which the journal is folded from its beginning; not where that was cut.
All lead to the same state, because the fold is the same. What an older version has folded is left to it: files and
snapshots of an older schema are migrated on a copy, and none is used before a position at which an older engine has
answered (``worker/handover.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from ..engine.version import ENGINE_VERSION
from ..errors import DamagedLedgerError, HandoverError, LedgerError
from ..ledger.check import LedgerMeta, check_ledger
from ..ledger.file import copy_beside, file_stamp, ledger_errors, put_in_place, set_damaged_aside, tidy
from ..ledger.ledger import Ledger
from ..ledger.migrations import MigrationError, migrate_copy, migrate_ledger
from ..ledger.schema import SCHEMA_VERSION
from ..metrics import Metrics
from ..private_folder import make_private
from ..records import TopicPartition
from ..threads import in_thread, stoppable_in_thread
from .store import Snapshot, SnapshotError, Snapshots

log = logging.getLogger(__name__)


class RecoveredLedger(NamedTuple):
    """A ledger, the end offset of its journal partition at that time, and the newest snapshot that is listed."""

    ledger: Ledger
    journal_end: int
    newest: Snapshot | None


class _Closed(NamedTuple):
    """A ledger when it was closed here: the stamp of its files, and its journal offset and generation."""

    stamp: Sequence[tuple[int, int, int]]
    committed: tuple[int, int]


Handover = Callable[[LedgerMeta], Awaitable[None]]
"""Raises ``LedgerError`` where this version must not go on with a ledger (``worker/handover.py``)."""


class LedgerRecovery:
    """Opens ledgers; without ``snapshots`` from the worker's own files alone.

    A ledger that was closed here and is untouched is not checked again: every rebalance revokes all partitions and
    assigns most of them back. If the disk damages it meanwhile, the worker ends, as it does with an open ledger, and
    the next start checks all ledgers.
    """

    def __init__(self, snapshots: Snapshots | None, metrics: Metrics, clock_ms: Callable[[], int]) -> None:
        self._snapshots = snapshots
        self._metrics = metrics
        self._clock_ms = clock_ms
        self._closed: dict[Path, _Closed] = {}

    def close(self, ledger: Ledger) -> None:
        """Close a ledger that was opened here and claimed."""
        ledger.close()
        with suppress(OSError):
            self._closed[ledger.path] = _Closed(file_stamp(ledger.path), ledger.committed)

    async def open(
        self,
        path: Path,
        journal: TopicPartition,
        journal_range: Callable[[TopicPartition], Awaitable[tuple[int, int]]],
        check_handover: Handover,
    ) -> RecoveredLedger:
        """Open the ledger at ``path``, created if there is none; raise ``LedgerError``."""
        ledger, refusal = None, None
        try:
            ledger = await self._open_own_file(path, journal, check_handover)
        except HandoverError as error:
            # A snapshot of a worker of this version may be of use.
            refusal = error
        try:
            listed = await self._list_snapshots(journal)
            # Asked after the list was read: no listed snapshot can be ahead of this journal's end.
            begin, end = await journal_range(journal)
            newer_snapshots = [
                snapshot for snapshot in listed if snapshot.ledger.offset > (ledger.progress[0] if ledger else 0)
            ]
            with ledger_errors(path), copy_beside(path) as copy:
                if await self._fetch_first_good(newer_snapshots, (begin, end), copy, check_handover):
                    if ledger:
                        ledger.close()
                    put_in_place(copy, path)
                    ledger = Ledger(path, *journal)
            if ledger is None and refusal is not None:
                raise refusal
            offset = ledger.progress[0] if ledger else 0
            if offset < begin:
                raise missing_beginning(journal, offset, begin)
            if ledger is None:
                await check_handover(LedgerMeta(SCHEMA_VERSION, *journal, offset=0, generation=0))
                ledger = Ledger(path, *journal)
        except BaseException:
            if ledger:
                ledger.close()
            raise
        return RecoveredLedger(ledger, end, listed[0] if listed else None)

    async def _open_own_file(self, path: Path, journal: TopicPartition, check_handover: Handover) -> Ledger | None:
        with ledger_errors(path):
            make_private(path.parent)
            tidy(path)
            try:
                if ledger := self._if_untouched(path, journal):
                    return ledger
                # In a thread: a million cases take seconds, and heartbeats must go on. To its end: the next owner must
                # not rename the file meanwhile.
                extra = {"partition": journal.partition}
                check = partial(check_ledger, path)
                meta = await stoppable_in_thread(check, to_its_end=True, name="check the ledger", extra=extra)
                if meta is None:
                    return None
                if meta.engine != ENGINE_VERSION:
                    await check_handover(meta)
                if meta.schema < SCHEMA_VERSION:
                    migrate = partial(migrate_ledger, path)
                    await stoppable_in_thread(migrate, to_its_end=True, name="migrate the ledger", extra=extra)
                    log.info("migrated ledger", extra={**extra, "schema": meta.schema, "to": SCHEMA_VERSION})
                return Ledger(path, *journal)
            except DamagedLedgerError as error:
                aside = set_damaged_aside(path, self._clock_ms())
                log.error(
                    "ledger %s is damaged (%s); it is rebuilt, and the damaged file is kept as %s",
                    path,
                    error.damage,
                    aside.name,
                )
                return None

    def _if_untouched(self, path: Path, journal: TopicPartition) -> Ledger | None:
        closed = self._closed.pop(path, None)
        if closed is None or not closed.stamp or file_stamp(path) != closed.stamp:
            return None
        ledger = Ledger(path, *journal)
        try:
            untouched = ledger.progress == closed.committed
        except BaseException:
            ledger.close()
            raise
        if not untouched:
            ledger.close()
        return ledger if untouched else None

    async def _list_snapshots(self, journal: TopicPartition) -> Sequence[Snapshot]:
        snapshots = self._snapshots
        if snapshots is None:
            return ()
        try:
            return await in_thread(snapshots.listed, journal)
        except SnapshotError as error:
            self._log_refused("snapshots cannot be listed: %s", error)
            return ()

    async def _fetch_first_good(
        self, newer: Sequence[Snapshot], journal: tuple[int, int], copy: Path, check_handover: Handover
    ) -> bool:
        """Fetch the first good snapshot; return whether there is one."""
        if self._snapshots is None:
            return False
        for snapshot in newer:
            started = perf_counter()
            try:
                _check(snapshot, *journal)
                if snapshot.ledger.engine != ENGINE_VERSION:
                    await check_handover(snapshot.ledger)
                await stoppable_in_thread(partial(self._snapshots.fetch, snapshot, copy))
                if snapshot.ledger.schema < SCHEMA_VERSION:
                    await stoppable_in_thread(partial(migrate_copy, copy))
            except (SnapshotError, MigrationError, HandoverError) as error:
                self._log_refused("snapshot %s is refused: %s", snapshot.file, error)
                continue
            seconds = perf_counter() - started
            self._metrics.snapshot_seconds.labels("restore").observe(seconds)
            extra = {
                "partition": snapshot.ledger.partition,
                "offset": snapshot.ledger.offset,
                "seconds": round(seconds, 3),
            }
            log.info("restored snapshot %s", snapshot.file, extra=extra)
            return True
        return False

    def _log_refused(self, message: str, *values: object) -> None:
        self._metrics.snapshot_failures.labels("restore").inc()
        log.warning(message, *values)


def missing_beginning(journal: TopicPartition, offset: int, begin: int) -> LedgerError:
    """The error where a journal begins only behind what a ledger has folded; ``offset`` is 0 without a ledger."""
    stands = f"and the ledger stands at {offset}" if offset else "and there is neither a ledger nor a snapshot of it"
    return LedgerError(
        f"{journal.topic} partition {journal.partition} begins at offset {begin}, {stands}: the records between are "
        f"gone; give --state-dir or --snapshots with a ledger that stands at {begin} or later, or begin again with "
        "another --topic-prefix, --group and --state-dir (docs/operations.md, Starting again)"
    )


def _check(snapshot: Snapshot, journal_begin: int, journal_end: int) -> None:
    """Raise ``SnapshotError`` for a snapshot of no use, ``LedgerError`` where the setting itself is wrong."""
    ledger = snapshot.ledger
    if ledger.schema > SCHEMA_VERSION:
        raise LedgerError(
            f"snapshot {snapshot.file} has a ledger of schema {ledger.schema}, this version reads {SCHEMA_VERSION}: "
            "run the version that wrote it, or use another --snapshots"
        )
    if ledger.offset > journal_end:
        raise LedgerError(
            f"snapshot {snapshot.file} stands at journal offset {ledger.offset}, but partition {ledger.partition} of "
            f"{ledger.journal} ends at {journal_end}: it is of another journal, use another --snapshots"
        )
    if ledger.offset < journal_begin:
        raise SnapshotError(f"it stands at offset {ledger.offset}, and the journal begins at {journal_begin}")
