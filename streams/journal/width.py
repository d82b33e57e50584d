"""The width of the journal: its number of partitions, which is fixed for the life of an installation.

The journal partition of a shard follows from the width, and each partition has a ledger and partitions of the outputs
of its own. Kafka can only raise a number of partitions. After that, shards would begin anew in other partitions, and
outcomes would come to ledgers that know nothing of their cases. So every journal record says in a header for which
width its partition was chosen, and the ledger keeps it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from ..errors import LedgerError
from ..records import Headers, Publisher, Record
from ..topics import Topics

WIDTH_HEADER = "onward_width"
_TAIL_RECORDS = 10
"""The declaration of an engine, which has no width, may stand at the end of a journal partition."""


def width_headers(width: int | None) -> Headers:
    """The headers of a journal record that is written for this width."""
    return () if width is None else ((WIDTH_HEADER, b"%d" % width),)


def width_of(record: Record) -> int | None:
    """The width for which a journal record was written; None for one of an earlier version, or a foreign one."""
    value = dict(record.headers).get(WIDTH_HEADER, b"")
    return int(value) if value.isdigit() and len(value) < 10 else None


def check_width(where: str, before: int | None, width: int) -> None:
    """Raise ``LedgerError`` where the journal had another number of partitions before."""
    if before is not None and before != width:
        raise LedgerError(
            f"the journal has {width} partitions now, and had {before} ({where}): programs would begin anew in other "
            "partitions, so nothing more is read; Kafka takes no partitions away: begin again with another "
            "--topic-prefix, --group and --state-dir (docs/operations.md, Starting again)"
        )


class Tail(Protocol):
    """Reads the last records of a partition, as ``Publisher.tail``."""

    def __call__(
        self, topic: str, partition: int, see: Callable[[Record], int | None], count: int = 1
    ) -> Awaitable[list[int | None]]:
        """The values of ``see`` for the last ``count`` records, in offset order."""


async def written_width(tail: Tail, topics: Topics) -> int | None:
    """The width for which the newest records of the journal were written; None where nothing says so.

    Every worker appends to all partitions when it starts, so the first one tells.
    """
    widths = await tail(topics.journal, 0, width_of, _TAIL_RECORDS)
    return next((width for width in reversed(widths) if width is not None), None)


async def checked_width(publisher: Publisher, topics: Topics) -> int:
    """The journal's number of partitions; raise ``LedgerError`` where its newest records were written for another."""
    width = await publisher.partitions(topics.journal)
    check_width(f"topic {topics.journal}, by its newest records", await written_width(publisher.tail, topics), width)
    return width
