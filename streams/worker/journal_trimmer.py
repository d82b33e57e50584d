"""The journal trimmer: deletes old records of a journal partition, behind a snapshot that is known to be good.

A cut takes these steps, and a worker may be killed after each:
    1. the oldest listed snapshot is chosen: every other one stands at a later offset;
    2. the cut is chosen: behind it all records are older than the limit, and it is never beyond that snapshot nor
       beyond the ledger's own commit;
    3. the snapshot is fetched again and checked in full, as a worker would that begins with it;
    4. with an archive: that snapshot is kept as the checkpoint of its month, where there is none, and read again;
    5. with an archive: the records behind the cut are kept in segments, each read again and compared with the topic;
       where they are many, the cut goes back to where the segments end (``journal_archiver.py``);
    6. the specs in force are appended to the journal once more, for commands that read them there;
    7. Kafka deletes the records behind the cut (DeleteRecords).
Only the last step takes anything away, and Kafka does it whole or not at all. Whoever begins with a listed snapshot,
or with a ledger of this worker, finds the journal from there on. Archive and topic hold every record between them; both
hold some after a kill. A failure is logged and counted, and the next turn tries again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..archive.store import ArchiveError
from ..engine.version import ENGINE_VERSION
from ..errors import BrokerError, FencedError
from ..journal.lines import pack_lines, spec_again_line
from ..ledger.file import copy_beside
from ..ledger.schema import SCHEMA_VERSION
from ..metrics import Metrics
from ..programs.announced_spec import spec_event
from ..programs.program import Program
from ..records import Publisher, TopicPartition
from ..snapshots.store import Snapshot, SnapshotError, Snapshots
from ..threads import in_thread, stoppable_in_thread
from .journal_archiver import JournalArchiver
from .stages import Stage

log = logging.getLogger(__name__)

CUT_SECONDS = 3600.0
"""Seconds between two cuts of a partition: each fetches a snapshot."""


@dataclass(frozen=True)
class Owned:
    """What a cut needs of a journal partition: its ledger's path and journal offset, and the programs in force."""

    ledger: Path
    offset: int
    programs: Iterable[Program]


@dataclass
class JournalTrimmer:
    """Cuts journal partitions where records are older than ``keep_ms``; none where that is None."""

    snapshots: Snapshots | None
    keep_ms: int | None
    publisher: Publisher
    metrics: Metrics
    clock_ms: Callable[[], int]
    wait_until_valid: Callable[[], Awaitable[None]]
    observe: Callable[[Stage], None]
    seconds: float = CUT_SECONDS
    archiver: JournalArchiver | None = None
    _due: dict[TopicPartition, float] = field(default_factory=dict)

    async def cut_if_due(self, journal: TopicPartition, owned: Owned) -> None:
        """Cut a partition, unless that was tried a short time ago."""
        if self.snapshots is None or self.keep_ms is None:
            return
        now = asyncio.get_running_loop().time()
        if now < self._due.get(journal, now):
            return
        self._due[journal] = now + self.seconds
        try:
            await self._cut(journal, owned, self.snapshots, self.clock_ms() - self.keep_ms)
        except (ArchiveError, SnapshotError, BrokerError, FencedError, OSError) as error:
            self.metrics.journal_cut_failures.labels(journal.partition).inc()
            log.warning("the journal was not cut: %s", error, extra={"partition": journal.partition})

    async def _cut(self, journal: TopicPartition, owned: Owned, snapshots: Snapshots, before_ms: int) -> None:
        # Step 1: the oldest listed snapshot.
        listed = await in_thread(snapshots.listed, journal)
        if not listed:
            return
        oldest = listed[-1]

        # Step 2: the cut.
        begin = await self.publisher.begin_offset(journal)
        old = await self.publisher.first_offset_since(journal, before_ms)
        cut = min(old, oldest.ledger.offset, owned.offset)
        if cut <= begin:
            return
        self.observe(Stage.CUT_CHOSEN)

        with copy_beside(owned.ledger) as copy:
            # Step 3: the snapshot is good.
            await _fetch_again(oldest, snapshots, copy)
            self.observe(Stage.SNAPSHOT_CHECKED)

            # Step 4: the checkpoint is kept.
            if self.archiver is not None:
                await self.archiver.keep_checkpoint(oldest, copy)

        # Step 5: the records are kept.
        if self.archiver is not None:
            kept = await self.archiver.keep_segments(journal, begin, cut)
            if kept < cut:
                self._due.pop(journal)
            cut = kept
            self.observe(Stage.ARCHIVED)

        # Step 6: the specs in force, once more.
        await self.wait_until_valid()
        await self._repeat_specs(journal, owned.programs)
        self.observe(Stage.SPECS_REPEATED)

        # Step 7: the records go.
        await self.wait_until_valid()
        await self.publisher.delete_before(journal, cut)
        self.observe(Stage.JOURNAL_CUT)
        self.metrics.journal_begin_offset.labels(journal.partition).set(cut)
        extra = {"partition": journal.partition, "offset": cut, "records": cut - begin}
        log.info("cut the journal behind snapshot %s", oldest.file, extra=extra)

    async def _repeat_specs(self, journal: TopicPartition, programs: Iterable[Program]) -> None:
        now_ms = self.clock_ms()
        lines = [spec_again_line(spec_event(program), program.sha256, now_ms) for program in programs]
        width = await self.publisher.partitions(journal.topic)
        await self.publisher.publish(list(pack_lines(*journal, lines, width)))


async def _fetch_again(snapshot: Snapshot, snapshots: Snapshots, copy: Path) -> None:
    """Fetch the snapshot; raise ``SnapshotError`` where a worker of this version could not begin with it."""
    versions = (snapshot.ledger.schema, snapshot.ledger.engine)
    if versions != (SCHEMA_VERSION, ENGINE_VERSION):
        raise SnapshotError(f"the oldest snapshot {snapshot.file} is of another version, and ends when newer ones come")
    await stoppable_in_thread(partial(snapshots.fetch, snapshot, copy))
