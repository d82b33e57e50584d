"""The batches of records that a command could not read: what they hold is not known."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from ...printable import printable
from ...records import Record

MOST_LINES = 10


class UnreadBatches:
    """Notes the batches among records that were not read."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self._count = 0

    def seen(self, records: Iterable[Record]) -> Iterator[Record]:
        """The same records."""
        for record in records:
            if record.unread is not None:
                self._count += 1
                if len(self._first) < MOST_LINES:
                    self._first.append(_line(record, record.unread.detail))
            yield record

    def lines(self) -> list[str]:
        """A line for each of the first batches, and how many more there are."""
        more = self._count - len(self._first)
        return [*self._first, *([f"{more:,} more batches of records were not read"] if more else [])]

    def print(self) -> None:
        """Print the lines on standard error."""
        for line in self.lines():
            print(printable(line), file=sys.stderr)


def _line(record: Record, detail: str) -> str:
    offsets = f"{record.first_offset} to {record.offset}"
    return f"{record.topic} partition {record.partition} offsets {offsets} were not read: {detail}"
