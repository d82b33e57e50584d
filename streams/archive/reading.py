"""Reads what an archive holds of a journal partition, whatever overlaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..records import Record, TopicPartition
from .store import Archive, ArchiveError, SegmentFile


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


def _first_good(
    archive: Archive, journal: TopicPartition, segments: Sequence[SegmentFile], offset: int
) -> tuple[list[Record], int]:
    why = []
    holding = [segment for segment in segments if segment.first <= offset < segment.end]
    for segment in sorted(holding, key=lambda one: one.end, reverse=True):
        try:
            return archive.read_segment(segment), segment.end
        except ArchiveError as error:
            why.append(str(error))
    raise ArchiveGapError(journal, offset, why)
