"""The journal folded with the code at hand, and its outputs held against those that were published.

Users run it before an upgrade: where nothing differs, the new version would have answered everybody as the old one did.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from ...schemas.headers import CE_ID, CE_TYPE
from ...schemas.kinds import kinds
from ..engine.handlers.model import load_models
from ..engine.portion import PORTION_ENTRIES
from ..engine.process import footprint, process
from ..engine.timing.watermark import required_topics
from ..engine.version import ENGINE_VERSION, EngineSpan
from ..errors import UsageError
from ..journal.entries import Entry
from ..journal.forged_records import ForgedRecords
from ..journal.lines import read_entries
from ..ledger.ledger import Ledger
from ..outputs.emission import ENGINE, POSITION, Emission, OutputPosition, topic_of
from ..outputs.letter_values import without_values
from ..programs.program import Program
from ..records import Record, TopicPartition
from ..topics import Topics
from ..worker_defaults import WAITING_LIMIT
from .json_difference import Part, differing_parts, names_of

NOTHING = "nothing"
"""What stands in a difference where one side has no such output, or no such field."""

TYPE = CE_TYPE
"""The field of a difference in which an output is an event of another type."""

_Key = tuple[str, str]
"""The topic and ``ce_id`` of an output."""


class _Output(NamedTuple):
    """An output: its number, type, JSON, and the engine that wrote it."""

    number: int
    type: str
    value: bytes
    engine: int


class Difference(NamedTuple):
    """An output that is another one with this code: its first field that differs, as it ``was`` published and ``now``.

    ``position`` is that of the journal, and ``field`` is "" where only one side has the output.
    """

    position: str
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
            "CREATE TABLE outputs (partition, offset, number, topic, id, type, value, engine, "
            "PRIMARY KEY (partition, offset, topic, number)) WITHOUT ROWID"
        )
        self._db.execute("BEGIN")
        self._cut: set[TopicPartition] = set()
        self._first: dict[TopicPartition, int] = {}
        self._names: defaultdict[tuple[str, str, int], set[str]] = defaultdict(set)
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
            id, type = headers[CE_ID].decode(), headers[CE_TYPE].decode()
            engine = EngineSpan.parse(headers.get(ENGINE, b"0.0")).version
            value = msgspec.json.decode(record.value or b"")
        except (KeyError, ValueError, msgspec.DecodeError, RecursionError):
            return
        row = record.partition, offset, number, record.topic, id, type, record.value, engine
        self._db.execute("INSERT OR IGNORE INTO outputs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        if engine < ENGINE_VERSION:
            self._names[record.topic, type, engine].update(names_of(value))
        at = TopicPartition(record.topic, record.partition)
        self._first[at] = min(offset, self._first.get(at, offset))
        self.last[record.partition] = max(offset, self.last.get(record.partition, offset))

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def outputs_of(self, partition: int, offset: int) -> dict[_Key, _Output]:
        """The outputs of a journal record."""
        query = (
            "SELECT topic, id, number, type, value, engine FROM outputs WHERE partition = ? AND offset = ? "
            "ORDER BY number"
        )
        return {(topic, id): _Output(*rest) for topic, id, *rest in self._db.execute(query, (partition, offset))}

    def knows(self, topic: str, output: _Output, name: str) -> bool:
        """Whether the engine that wrote an output writes a field of this name in any output of the type.

        What it never writes, a later engine may have added. What it writes in another output, it has left out here.
        """
        return output.engine >= ENGINE_VERSION or name in self._names[topic, output.type, output.engine]

    def compares(self, topic: str, partition: int, offset: int) -> bool:
        """Whether an output of this journal record would be among them."""
        at = TopicPartition(topic, partition)
        if offset > self.last.get(partition, -1):
            return False
        # The oldest record that is left may be one of several of its journal record.
        return at not in self._cut or (at in self._first and offset > self._first[at])


class OutputCheck:
    """Folds a journal partition from where a ledger stands, and compares.

    ``compared`` counts outputs. ``differing`` and ``added`` count them by topic and field: those whose field differs,
    and those that an older engine wrote without a field which it never writes.

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
        self.differing: Counter[tuple[str, str]] = Counter()
        self.added: Counter[tuple[str, str]] = Counter()

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
        was = self._published.outputs_of(partition, offset)
        now = {(topic_of(emission, self._topics), emission.id): emission for emission in emissions}
        found = []
        for topic, id in was.keys() | now.keys():
            if not self._published.compares(topic, partition, offset):
                continue
            self.compared += 1
            before, after = was.get((topic, id)), now.get((topic, id))
            part = self._first_difference(topic, before, after)
            if part is not None:
                number = 0 if (either := before or after) is None else either.number
                position = f"{offset}.{number}"
                found.append((number, _difference(position, partition, topic, before, after, part)))
        for _, difference in sorted(found):
            yield difference

    def _first_difference(self, topic: str, before: _Output | None, after: Emission | None) -> Part | None:
        """Count what differs in an output, and return the first of it."""
        differing, added = self._parts(topic, before, after)
        self.differing.update({(topic, part.name) for part in differing})
        self.added.update({(topic, part.name) for part in added})
        return differing[0] if differing else None

    def _parts(self, topic: str, before: _Output | None, after: Emission | None) -> tuple[list[Part], list[Part]]:
        """The differences in an output, and the additions of a later engine."""
        if before is None or after is None:
            was, now = (UNSET if side is None else "published" for side in (before, after))
            return [Part("", "", was, now, is_left_out=False)], []
        type = kinds.by_struct[after.struct].ce_type
        if before.type != type:
            return [Part(TYPE, TYPE, before.type, type, is_left_out=False)], []
        if before.value == after.value:
            return [], []
        published = without_values(msgspec.json.decode(before.value), after)
        differing: list[Part] = []
        added: list[Part] = []
        for part in differing_parts(published, msgspec.json.decode(after.value)):
            is_new = part.is_left_out and not self._published.knows(topic, before, part.name)
            (added if is_new else differing).append(part)
        return differing, added


def _difference(
    position: str,
    partition: int,
    topic: str,
    before: _Output | None,
    after: Emission | None,
    part: Part,
) -> Difference:
    named = msgspec.json.decode(b"{}" if (either := before or after) is None else either.value)
    about = str(named.get("program", "")), str(named.get("application", ""))
    return Difference(position, partition, topic, *about, part.path, _text(part.was), _text(part.now))


def _text(value: object) -> str:
    if value is UNSET:
        return NOTHING
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
