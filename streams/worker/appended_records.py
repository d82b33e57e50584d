"""Records of a journal partition that this worker has appended: they need not be read back from the journal.

The journal stays the truth. A record is kept when the journal has acknowledged it, at the offset that it has there, and
is taken where the fold comes to that offset. What is missing, because another worker has appended it or there was no
room, is read, and so are all records after a start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..records import UNKNOWN_OFFSET, Record

APPENDED_BYTES = 1 << 20
"""Of a partition's records that wait for the fold: about what is folded together. Their lines take as much again."""


class AppendedRecords:
    """Those that wait, by offset; at most ``most_bytes``."""

    def __init__(self, most_bytes: int = APPENDED_BYTES) -> None:
        self._most_bytes = most_bytes
        self._records: dict[int, Record] = {}
        self.bytes = 0

    def keep(self, record: Record) -> bool:
        """Keep a record if there is room; return whether it is kept."""
        size = len(record.value or b"")
        if record.offset == UNKNOWN_OFFSET or self.bytes + size > self._most_bytes:
            return False
        self._records[record.offset] = record
        self.bytes += size
        return True

    def unread(self, chunk: Iterable[Record], offset: int, next_offset: Callable[[int], int]) -> list[Record]:
        """What is to be folded from ``offset`` on: records that are kept and follow, and those of a chunk that was
        read.

        ``next_offset`` is the first from an offset on that is not left out. The chunk may hold records of this process
        too: they say only that something is kept.
        """
        found = list(self._following(offset, next_offset))
        for record in chunk:
            behind = found[-1].offset + 1 if found else offset
            if record.lines is None and record.offset >= behind:
                found.append(self._take(record.offset) or record)
                found.extend(self._following(record.offset + 1, next_offset))
        behind = found[-1].offset + 1 if found else offset
        for passed in [kept for kept in self._records if kept < behind]:
            self._take(passed)
        return found

    def _following(self, offset: int, next_offset: Callable[[int], int]) -> Iterator[Record]:
        while (record := self._take(next_offset(offset))) is not None:
            yield record
            offset = record.offset + 1

    def _take(self, offset: int) -> Record | None:
        record = self._records.pop(offset, None)
        if record is not None:
            self.bytes -= len(record.value or b"")
        return record
