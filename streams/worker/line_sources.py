"""The sources of journal lines: whether the input partitions from which lines say they were read hold so many records.

The engine drops what stands at or before the highest offset that it has folded of an input partition. A line with an
offset that the partition does not have yet would so make it drop the real records up to there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..journal.entries import Entry
from ..records import Publisher, TopicPartition
from ..topics import Topics


class Fault(NamedTuple):
    """Why ingest cannot have written a line, and the input partition that ends before it; None for other faults."""

    why: str
    source: TopicPartition | None = None


class LineSources:
    """Holds lines against the ends of the inputs. The broker is asked only where a line is beyond the ends so far."""

    def __init__(self, topics: Topics, publisher: Publisher) -> None:
        self._inputs = frozenset(topics.ingested)
        self._publisher = publisher
        self._ends: dict[TopicPartition, int] = {}

    async def fault(self, entries: Sequence[Entry]) -> Fault | None:
        """The fault of the first line that ingest cannot have written; None where it may have written all."""
        beyond = list(self._entries_beyond(entries))
        return await self._unread(beyond) if beyond else None

    async def _unread(self, beyond: Sequence[Entry]) -> Fault | None:
        there = set(self._ends)
        for entry in beyond:
            if (why := await self._impossible(entry, there)) is not None:
                return Fault(why)
        # Together: in a moment the lines of the others are as new.
        named = {entry.source for entry in beyond if entry.source is not None}
        self._ends |= await self._publisher.end_offsets(sorted(named | self._ends.keys()))
        for entry in self._entries_beyond(beyond):
            if (source := entry.source) is not None:
                return Fault(f"{_says(source, entry)}, which ends at offset {self._ends[source]}", source)
        return None

    def _entries_beyond(self, entries: Iterable[Entry]) -> Iterable[Entry]:
        """Entries that are not known to have been read from where they say."""
        last, end = None, 0
        for entry in entries:
            source = entry.source
            if source is None:
                if entry.kind.flow == "input" and entry.kind.name != "spec":
                    yield entry
                continue
            # Most entries have the source of the one before.
            if source is not last:
                last, end = source, self._ends.get(source, 0)
            if not 0 <= entry.source_offset < end:
                yield entry

    async def _impossible(self, entry: Entry, there: set[TopicPartition]) -> str | None:
        """Why a line cannot have been read from where it says, whatever is there.

        ``there`` are the partitions that are known to be there. That of the line is added.
        """
        source = entry.source
        if source is None:
            return f"a line of kind {entry.kind.name} does not say where it was read from"
        if source.topic not in self._inputs:
            return f"{_says(source, entry)}, and that topic is no input"
        if entry.source_offset < 0:
            return _says(source, entry)
        if source not in there:
            if not 0 <= source.partition < await self._publisher.partitions(source.topic):
                return f"{_says(source, entry)}, and there is no such partition"
            there.add(source)
        return None


def _says(source: TopicPartition, entry: Entry) -> str:
    topic, partition = source.topic[:100], source.partition
    return f"a line says it was read from {topic} partition {partition} offset {entry.source_offset}"
