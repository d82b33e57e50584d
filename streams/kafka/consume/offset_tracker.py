"""The offsets of the assigned partitions: position, processed offset, committed offset."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from faust.types import TP

from ...errors import LedgerError
from ...records import TopicPartition
from ...snapshots.recovery import missing_beginning

log = logging.getLogger(__name__)


class OffsetTracker:
    """Follows each partition's records: queued for a handler, then processed by it, then committed to the group.

    Every offset is that of the next record. Calls about a partition that is not assigned change nothing.
    """

    def __init__(self) -> None:
        self._positions: dict[TP, int] = {}
        self._processed: dict[TP, int] = {}
        self._committed: dict[TP, int] = {}

    def assign(self, starts: Mapping[TP, int]) -> None:
        """Replace the assignment by these partitions, read from these offsets."""
        self._positions, self._processed, self._committed = dict(starts), dict(starts), dict(starts)

    def revoke(self) -> None:
        """Drop the assignment."""
        self.assign({})

    def mark_queued(self, tp: TP, last: int) -> None:
        """Records up to offset ``last`` are queued for their handler."""
        if tp in self._positions:
            self._positions[tp] = last + 1

    def mark_processed(self, tp: TP, last: int) -> None:
        """The handler has returned for the records up to offset ``last``."""
        if tp in self._processed:
            self._processed[tp] = last + 1

    def skip_gaps(self, fetch_positions: Mapping[TP, int]) -> None:
        """Advance to the fetch positions, where all queued records are processed.

        The offsets between belong to transaction markers and aborted records, which a fetch does not return.
        """
        for tp, processed in self._processed.items():
            if processed == self._positions[tp] < fetch_positions.get(tp, 0):
                self._processed[tp] = self._positions[tp] = fetch_positions[tp]

    def positions(self) -> dict[TP, int]:
        """The next offset to read of each partition."""
        return dict(self._positions)

    def processed(self, tp: TP) -> int | None:
        """The next offset to process of a partition; None when it is not assigned."""
        return self._processed.get(tp)

    def uncommitted(self) -> dict[TP, int]:
        """Processed offsets that differ from the committed ones."""
        return {tp: offset for tp, offset in self._processed.items() if offset != self._committed[tp]}

    def mark_committed(self, offsets: Mapping[TP, int]) -> None:
        """The group has committed these offsets."""
        self._committed.update((tp, offset) for tp, offset in offsets.items() if tp in self._committed)


def start_after_commit(tp: TP, committed: int | None, first: int, end: int) -> int:
    """The start offset of a partition without a ledger: the group's, or the beginning when the partition lacks that."""
    if committed is None:
        return first
    if not first <= committed <= end:
        log.warning(
            "%s partition %d holds offsets %d to %d, the group's is %d: reading from the beginning",
            tp.topic, tp.partition, first, end, committed,
        )  # fmt: skip
        return first
    return committed


def start_after_ledger(tp: TP, start: int, first: int, end: int) -> int:
    """The start offset of a partition with a ledger; raise ``LedgerError`` when the partition lacks that offset."""
    if start < first:
        raise missing_beginning(TopicPartition(tp.topic, tp.partition), start, first)
    if start > end:
        raise LedgerError(
            f"{tp.topic} partition {tp.partition} ends at offset {end}, and the ledger stands at {start}: it is of "
            "another journal, or the journal has lost records; restore the topic, or use another state directory"
        )
    return start
