"""Reads what an archive holds of a journal partition: records, whatever overlaps, and checkpoints that are good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event

from ..ledger.check import LedgerCheckError, check_copy
from ..records import Record, TopicPartition
from .store import Archive, ArchiveError, CheckpointFile, SegmentFile


class ArchiveGapError(ArchiveError):
    """No segment that can be read holds an offset. ``why`` says what was tried, one reason a segment."""

    def __init__(self, journal: TopicPartition, offset: int, why: Sequence[str]) -> None:
        reasons = "; ".join(why) or "no segment holds it"
        super().__init__(f"{journal.topic} partition {journal.partition}, offset {offset}: {reasons}")
        self.offset, self.why = offset, tuple(why)


def archived_records(archive: Archive, journal: TopicPartition, begin: int, end: int) -> Iterator[Record]:
    """The records from ``begin`` to below ``end``; raise ``ArchiveGapError`` at the first that is not to be had."""
    segments = archive.segments(journal)
    while begin < end:
        records, stop = _first_good(archive, journal, segments, begin)
        yield from (record for record in records if begin <= record.offset < end)
        begin = stop


def begin_of_archived(archive: Archive, journal: TopicPartition, end: int) -> int:
    """From which offset on segments hold all up to ``end``, by their names; ``end`` itself where none does.

    A segment whose month has no key any more holds nothing. Raise ``ArchiveError``.
    """
    for segment in sorted(archive.segments(journal), key=lambda part: part.end, reverse=True):
        if segment.end >= end > segment.first and archive.has_key(segment.month):
            end = segment.first
    return end


def _first_good(
    archive: Archive, journal: TopicPartition, segments: Sequence[SegmentFile], offset: int
) -> tuple[list[Record], int]:
    why = []
    holding = [segment for segment in segments if segment.first <= offset < segment.end]
    for segment in sorted(holding, key=lambda part: part.end, reverse=True):
        try:
            return archive.read_segment(segment), segment.end
        except ArchiveError as error:
            why.append(str(error))
    raise ArchiveGapError(journal, offset, why)


def fetch_checked(archive: Archive, checkpoint: CheckpointFile, target: Path, stop: Event) -> None:
    """Copy a checkpoint to ``target``; raise ``ArchiveError`` unless it is a good ledger of that place."""
    archive.fetch_checkpoint(checkpoint, target, stop)
    try:
        meta = check_copy(target, stop)
    except LedgerCheckError as error:
        raise ArchiveError(f"checkpoint {checkpoint.name}: {error}") from error
    place = meta.journal, meta.partition, meta.offset
    if place != (*checkpoint.journal, checkpoint.offset):
        raise ArchiveError(f"checkpoint {checkpoint.name} holds the ledger of {place}")
