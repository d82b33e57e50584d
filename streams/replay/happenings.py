"""Happenings: the events about applications that records hold, whoever they are about.

    reader = HappeningReader(topics)
    for found in reader.read(record):
        found.happening.event

Records may come in any order of topics; those of each partition come in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec import UNSET, Struct

from ...schemas.events import DeadLetter, Erasure, Model, RawErasure
from ...schemas.kinds import kinds
from ..journal.entries import Entry, JournalPosition
from ..journal.lines import read_entries
from ..outputs.decoder import EventDecoder
from ..outputs.deduplicator import Classification, Deduplicator
from ..records import Record, TopicPartition
from ..topics import Topics
from .dead_letters import fields_of

DEAD_LETTER_TYPE = kinds["dead-letter"].ce_type.encode()
ERASURE_TYPE = kinds["erasure"].ce_type.encode()
NOT_JOURNALED = -1
"""In the place of the journal partition of an event that only its own topic holds."""

MayMatter = Callable[[bytes | None], bool]
"""Whether JSON may hold something about the applications that are asked for."""


def _matters(_: bytes | None) -> bool:
    return True


class Happening(NamedTuple):
    """One event about an application.

    ``topic``, ``partition`` and ``offset`` are its position: an input's own, also where it was read from the journal.
    ``program`` is None for a dead letter that names none. ``was_read`` is False for an input that no worker has read.
    ``refused`` is an input that became a dead letter, ``repeated`` one whose ``id`` an earlier one has.
    """

    time_ms: int
    kind: str
    topic: str
    partition: int
    offset: int
    id: str
    program: str | None
    event: Struct
    was_read: bool = True
    refused: bool = False
    repeated: bool = False


class FoundHappening(NamedTuple):
    """A happening, and where it was found.

    ``journal`` is the partition of the journal that holds it, ``place`` the line there; of an output the record that
    brought it, and its number among the outputs of that. An erasure counts for what was sent up to ``until_ms``.
    ``is_output`` says that it was read from the topic of an output, but not that of dead letters; ``body`` is its JSON.
    """

    happening: Happening
    journal: int = NOT_JOURNALED
    place: JournalPosition | None = None
    until_ms: int = 0
    is_output: bool = False
    body: bytes | None = None


class HappeningReader:
    """Reads the happenings of records, those of outputs once each.

    Parameters
    ----------
    topics
        The installation's topics.
    deduplicator
        Knows how far each partition of the outputs has been read.
    """

    def __init__(self, topics: Topics, deduplicator: Deduplicator | None = None) -> None:
        self._journal, self._inputs = topics.journal, frozenset(topics.inputs)
        self._letters, self._erasures = topics.dead_letters, topics.erasures
        self._decoder = EventDecoder(topics)
        self._deduplicator = deduplicator or Deduplicator()

    def read(self, record: Record, may_matter: MayMatter = _matters) -> Iterator[FoundHappening]:
        """The happenings of a record of any topic; what cannot matter may be left out."""
        if record.topic == self._journal:
            return self._journaled(record, may_matter)
        if record.topic in self._inputs:
            return self._sent(record, may_matter)
        return self._published(record, may_matter)

    def _sent(self, record: Record, may_matter: MayMatter) -> Iterator[FoundHappening]:
        """An event of an input topic. One that is no event becomes a dead letter."""
        if record.topic == self._erasures or may_matter(record.value):
            for happening in self._decoded(record):
                yield FoundHappening(happening._replace(was_read=False), until_ms=happening.time_ms)

    def _published(self, record: Record, may_matter: MayMatter) -> Iterator[FoundHappening]:
        """An event of an output topic, unless it is a repetition."""
        is_letter = record.topic == self._letters
        if self._deduplicator.classify(record) is Classification.NEW and (is_letter or may_matter(record.value)):
            place = self._deduplicator.mark(record.topic, record.partition).position
            for happening in self._decoded(record):
                at = JournalPosition(*place)
                yield FoundHappening(happening, record.partition, at, is_output=not is_letter, body=record.value)

    def _journaled(self, record: Record, may_matter: MayMatter) -> Iterator[FoundHappening]:
        """The inputs in a journal record, and the dead letters, which the topic of dead letters may have lost."""
        value = record.value or b""
        if not may_matter(value) and DEAD_LETTER_TYPE not in value and ERASURE_TYPE not in value:
            return
        for entry in read_entries(record):
            event = _public(entry)
            if entry.source is not None and event is not None:
                happening = _happening(entry.time_ms, _position(entry, entry.source), entry.id, event)
                until_ms = happening.time_ms if entry.clock_ms is None else entry.clock_ms
                yield FoundHappening(happening, record.partition, entry.position, until_ms)

    def _decoded(self, record: Record) -> Iterator[Happening]:
        """The event of a record, if it is one."""
        found = self._decoder.read_with_attributes(record)
        if found is not None:
            attributes, event = found
            time_ms = record.timestamp_ms if attributes.time_ms is None else attributes.time_ms
            yield _happening(time_ms, record, attributes.id, event)


def refused_offsets(letter: DeadLetter) -> tuple[TopicPartition, int, int] | None:
    """The partition, first and last offset of the records of a dead letter that does not hold what they said.

    None of one that does.
    """
    if letter.value is not None and letter.count is UNSET:
        return None
    last = letter.offset if letter.last_offset is UNSET else letter.last_offset
    return TopicPartition(letter.topic, letter.partition), letter.offset, last


def _happening(time_ms: int, record: Record, id: str, event: Struct) -> Happening:
    kind, program = kinds.by_struct[type(event)].name, _program(event)
    place = event if isinstance(event, DeadLetter) else record
    return Happening(time_ms, kind, place.topic, place.partition, place.offset, id, program, event)


def _public(entry: Entry) -> Struct | None:
    """The event of a journal line as its sender wrote it; None where it concerns neither application nor model."""
    body = entry.body
    if isinstance(body, DeadLetter | Model):
        return body
    if isinstance(body, RawErasure):
        return Erasure(body.program, body.application, body.applicant)
    if entry.kind.about != "case":
        return None
    event: Struct = body if entry.kind.body is None else entry.kind.decode(entry.raw)
    return event


def _position(entry: Entry, source: TopicPartition) -> Record:
    return Record(*source, entry.source_offset, entry.timestamp_ms, None, None, ())


def _program(event: Struct) -> str | None:
    program = fields_of(event).get("program") if isinstance(event, DeadLetter) else getattr(event, "program", None)
    return program if isinstance(program, str) else None
