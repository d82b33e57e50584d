"""The journal folded with the code at hand, and its outputs held against those that were published.

Users run it before an upgrade: where nothing differs, the new version would have answered everybody as the old one did.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ...schemas.headers import CE_ID
from ..engine.handlers.model import load_models
from ..engine.portion import PORTION_ENTRIES
from ..engine.process import footprint, process
from ..engine.timing.waiting import WAITING_LIMIT
from ..engine.timing.watermark import required_topics
from ..errors import UsageError
from ..journal.entries import Entry
from ..journal.forged_records import ForgedRecords
from ..journal.lines import read_entries
from ..ledger.ledger import Ledger
from ..outputs.emission import POSITION, Emission, OutputPosition, topic_of
from ..programs.program import Program
from ..records import Record, TopicPartition
from ..topics import Topics

NOTHING = "nothing"
"""What stands in a difference where one side has no such output, or no such field."""

_Key = tuple[str, str]
"""The topic and ``ce_id`` of an output."""


class Difference(NamedTuple):
    """An output that is another one with this code: its first field that differs, as it ``was`` published and ``now``.

    ``field`` is "" where only one side has the output.
    """

    position: OutputPosition
    partition: int
    topic: str
    program: str
    application: str
    field: str
    was: str
    now: str


class PublishedOutputs:
    """The published outputs, kept in a file: they need not fit into memory."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA synchronous=OFF")
        self._db.execute(
            "CREATE TABLE outputs (partition, offset, number, topic, id, value, "
            "PRIMARY KEY (partition, offset, topic, number)) WITHOUT ROWID"
        )
        self._db.execute("BEGIN")
        self._cut: set[TopicPartition] = set()
        self._first: dict[TopicPartition, int] = {}
        self.last: dict[int, int] = {}
        """The last journal offset with outputs, by partition."""

    def cut(self, partition: TopicPartition) -> None:
        """The beginning of a partition of an output topic is gone: what it held is not compared."""
        self._cut.add(partition)

    def add(self, record: Record) -> None:
        """Add a record of an output topic. What has no position is not of a worker."""
        headers = dict(record.headers)
        try:
            offset, number = OutputPosition.parse(headers[POSITION])
            id = headers[CE_ID].decode()
        except (KeyError, ValueError):
            return
        self._db.execute(
            "INSERT OR IGNORE INTO outputs VALUES (?, ?, ?, ?, ?, ?)",
            (record.partition, offset, number, record.topic, id, record.value or b""),
        )
        at = TopicPartition(record.topic, record.partition)
        self._first[at] = min(offset, self._first.get(at, offset))
        self.last[record.partition] = max(offset, self.last.get(record.partition, offset))

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def of(self, partition: int, offset: int) -> dict[_Key, tuple[int, bytes]]:
        """The number and JSON of each output of a journal record."""
        query = "SELECT topic, id, number, value FROM outputs WHERE partition = ? AND offset = ? ORDER BY number"
        rows = self._db.execute(query, (partition, offset))
        return {(topic, id): (number, value) for topic, id, number, value in rows}

    def compares(self, topic: str, partition: int, offset: int) -> bool:
        """Whether an output of this journal record would be among them."""
        at = TopicPartition(topic, partition)
        if offset > self.last.get(partition, -1):
            return False
        # The oldest record that is left may be one of several of its journal record.
        return at not in self._cut or (at in self._first and offset > self._first[at])


class OutputCheck:
    """Folds a journal partition from where a ledger stands, and compares. ``compared`` counts outputs.

    ``ledger`` is the path of a ledger of this schema that may be written to; a new one begins where there is none.
    ``forged`` is what the journal says of forged records, to be given before the first record is fed.
    """

    def __init__(
        self,
        programs: Mapping[str, Program],
        topics: Topics,
        journal: TopicPartition,
        ledger: Path,
        published: PublishedOutputs,
    ) -> None:
        self._topics, self._journal, self._published = topics, journal, published
        self.forged = ForgedRecords()
        self._ledger = Ledger(ledger, *journal)
        try:
            self._state = self._ledger.load(programs, required_topics(topics), WAITING_LIMIT)
            self._ledger.claim(0)
        except BaseException:
            self._ledger.close()
            raise
        self._entries: list[Entry] = []
        self.compared = 0

    @property
    def offset(self) -> int:
        """The next journal offset to fold."""
        return self._state.offset

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()

    def feed(self, record: Record) -> Iterator[Difference]:
        """Fold the next record of the journal, now or later; return the differences so far."""
        if not self._entries and record.first_offset > self.forged.next_offset(self._state.offset):
            raise UsageError(
                f"{record.topic} partition {record.partition} begins at offset {record.first_offset}, and the replay "
                f"at {self._state.offset}: give --snapshots, --from-ledger or --archive"
            )
        if record.offset < self._state.offset or self.forged.leaves_out(record.offset):
            return
        self.forged.check(self._journal, record.offset)
        self._entries += read_entries(record)
        if len(self._entries) >= PORTION_ENTRIES:
            yield from self.rest()

    def rest(self) -> Iterator[Difference]:
        """Fold what has not been folded yet."""
        entries, self._entries = self._entries, []
        if not entries:
            return
        models = load_models(self._state, entries)
        effects = process(self._state, entries, self._ledger.view(self._state, footprint(entries), models))
        self._ledger.commit(self._state, effects)
        by_offset: dict[int, list[Emission]] = {entry.position.offset: [] for entry in entries}
        for emission in effects.emissions:
            by_offset[emission.offset].append(emission)
        for offset, emissions in sorted(by_offset.items()):
            yield from self._compare(offset, emissions)

    def _compare(self, offset: int, emissions: Sequence[Emission]) -> Iterator[Difference]:
        partition = self._journal.partition
        was = self._published.of(partition, offset)
        now = {(topic_of(one, self._topics), one.id): (one.number, one.value) for one in emissions}
        found = []
        for topic, id in was.keys() | now.keys():
            if not self._published.compares(topic, partition, offset):
                continue
            self.compared += 1
            before, after = was.get((topic, id)), now.get((topic, id))
            if before is None or after is None or before[1] != after[1]:
                number = (before or after or (0, b""))[0]
                found.append(_difference(OutputPosition(offset, number), partition, topic, before, after))
        yield from sorted(found)


def _difference(
    position: OutputPosition,
    partition: int,
    topic: str,
    before: tuple[int, bytes] | None,
    after: tuple[int, bytes] | None,
) -> Difference:
    was, now = (None if side is None else msgspec.json.decode(side[1]) for side in (before, after))
    named = was or now or {}
    about = str(named.get("program", "")), str(named.get("application", ""))
    if was is None or now is None:
        texts = tuple(NOTHING if side is None else "published" for side in (was, now))
        return Difference(position, partition, topic, *about, "", *texts)
    field, *sides = _first_field(was, now, "")
    return Difference(position, partition, topic, *about, field, *(_text(side) for side in sides))


def _first_field(was: Any, now: Any, path: str) -> tuple[str, Any, Any]:
    """The path of the first part that differs, and both sides of it."""
    if isinstance(was, dict) and isinstance(now, dict):
        for name in [*was, *(name for name in now if name not in was)]:
            if was.get(name, NOTHING) != now.get(name, NOTHING):
                return _first_field(was.get(name, NOTHING), now.get(name, NOTHING), f"{path}.{name}".lstrip("."))
    if isinstance(was, list) and isinstance(now, list):
        for place in range(max(len(was), len(now))):
            sides = [side[place] if place < len(side) else NOTHING for side in (was, now)]
            if sides[0] != sides[1]:
                return _first_field(sides[0], sides[1], f"{path}[{place}]")
    return path, was, now


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
