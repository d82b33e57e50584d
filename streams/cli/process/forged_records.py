"""What a journal says of its forged records, which stands behind them: read before it is folded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from ...journal.forged_records import ForgedRecords
from ...records import Record


def read_forged(journal: Iterable[Record]) -> Mapping[int, ForgedRecords]:
    """By journal partition; any other has none."""
    found: dict[int, ForgedRecords] = defaultdict(ForgedRecords)
    for record in journal:
        found[record.partition].see(record)
    return found
