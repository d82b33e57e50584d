"""What a journal says of its forged records, which stands behind them: read before it is folded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from ...journal.forged_records import ForgedRecords
from ...kafka.admin.offsets import PartitionOffsets
from ...kafka.client import records_between
from ...kafka.options import KafkaOptions


def read_forged(
    options: KafkaOptions, journal: Iterable[PartitionOffsets], on_read: Callable[[int], None] = lambda _: None
) -> Mapping[int, ForgedRecords]:
    """By journal partition; any other has none."""
    found: dict[int, ForgedRecords] = defaultdict(ForgedRecords)
    for record in records_between(options, journal, on_read):
        found[record.partition].see(record)
    return found
