"""The journal archiver: keeps records in an archive before they are cut.

Nothing counts as kept that was not read again and compared: a segment with the records that the topic still holds, a
checkpoint with the snapshot that it copies. A worker that is killed on the way leaves files that the next turn finds,
compares and uses, or writes again beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from pathlib import Path
from threading import Event

from ..archive.reading import fetch_checked
from ..archive.segments import are_same
from ..archive.store import Archive, ArchiveError, CheckpointFile, SegmentFile, month_of
from ..ledger.file import copy_beside
from ..records import Publisher, Record, TopicPartition
from ..snapshots.store import Snapshot
from ..threads import in_thread, stoppable_in_thread
from .stages import Stage

SEGMENT_BYTES = 32 << 20
"""A segment ends with the record that reaches this size, and where another month begins."""
MOST_SEGMENTS = 8
"""Segments of one cut: a cut of a long journal must not hold up snapshots for hours."""


@dataclass
class JournalArchiver:
    """Keeps the records of journal partitions, and a checkpoint of each a month."""

    archive: Archive
    publisher: Publisher
    clock_ms: Callable[[], int]
    observe: Callable[[Stage], None]
    segment_bytes: int = SEGMENT_BYTES
    _good: set[CheckpointFile] = field(default_factory=set)

    async def keep_checkpoint(self, snapshot: Snapshot, copy: Path) -> None:
        """Keep a snapshot as the checkpoint of its month, unless there is one; ``copy`` is its checked content.

        The month is that of the first record behind it: so a month can be folded without those before.
        """
        journal, offset = snapshot.journal, snapshot.ledger.offset
        month = await self._month_from(journal, offset)
        for there in await in_thread(self.archive.checkpoints, journal):
            if there.month == month and (there in self._good or await self._is_good(there, copy)):
                self._good.add(there)
                return
        checkpoint = CheckpointFile(journal, offset, month)
        await stoppable_in_thread(partial(self.archive.write_checkpoint, checkpoint, copy))
        self.observe(Stage.CHECKPOINT_WRITTEN)
        if not await self._is_good(checkpoint, copy):
            raise ArchiveError(f"checkpoint {checkpoint.name} is not what was written")
        self._good.add(checkpoint)

    async def _is_good(self, checkpoint: CheckpointFile, beside: Path) -> bool:
        with copy_beside(beside) as fetched:
            return await stoppable_in_thread(partial(self._check, checkpoint, fetched))

    def _check(self, checkpoint: CheckpointFile, fetched: Path, stop: Event) -> bool:
        try:
            fetch_checked(self.archive, checkpoint, fetched, stop)
        except ArchiveError:
            return False
        return True

    async def keep_segments(self, journal: TopicPartition, begin: int, cut: int) -> int:
        """Keep the records from ``begin`` to ``cut``; return up to where they are kept, if that is many."""
        segments = await in_thread(self.archive.segments, journal)
        for _ in range(MOST_SEGMENTS):
            if begin >= cut:
                break
            there = [segment for segment in segments if segment.first == begin and segment.end <= cut]
            begin = await self._kept(there) or await self._keep(journal, begin, cut)
        return begin

    async def _kept(self, segments: Sequence[SegmentFile]) -> int | None:
        """The end of the longest of these segments that holds what the topic holds."""
        for segment in sorted(segments, key=lambda part: part.end, reverse=True):
            records, end = await self.publisher.records_from(
                segment.journal, segment.first, segment.end, 2 * self.segment_bytes
            )
            if end == segment.end and await in_thread(self._holds, segment, records):
                return end
        return None

    async def _keep(self, journal: TopicPartition, begin: int, cut: int) -> int:
        records, end = await self.publisher.records_from(journal, begin, cut, self.segment_bytes)
        month = self._month(records[0]) if records else month_of(self.clock_ms())
        of_month = list(takewhile(lambda record: self._month(record) == month, records))
        if len(of_month) < len(records):
            end = max(records[len(of_month)].first_offset, of_month[-1].offset + 1)
        segment = SegmentFile(journal, begin, end, month)
        await in_thread(self.archive.write_segment, segment, of_month)
        self.observe(Stage.SEGMENT_WRITTEN)
        if not await in_thread(self._holds, segment, of_month):
            raise ArchiveError(f"segment {segment.name} is not what was written")
        return end

    def _holds(self, segment: SegmentFile, records: Sequence[Record]) -> bool:
        try:
            return are_same(self.archive.read_segment(segment), records)
        except ArchiveError:
            return False

    async def _month_from(self, journal: TopicPartition, offset: int) -> str:
        end = (await self.publisher.end_offsets([journal]))[journal]
        records, _ = await self.publisher.records_from(journal, offset, end, 1)
        return self._month(records[0]) if records else month_of(self.clock_ms())

    def _month(self, record: Record) -> str:
        """The month in which a record has arrived: never one to come, whatever its sender says."""
        return month_of(min(record.timestamp_ms, self.clock_ms()))
