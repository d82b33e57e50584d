"""The history of an application: everything that the topics hold about it, in the order of event time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import UNSET, Struct

from ...schemas.events import (
    APPLY_AGAIN,
    DeadLetter,
    Decision,
    Erasure,
    ModelDecision,
    NoRecourse,
    PromiseChange,
    Question,
    RawErasure,
    Recourse,
    Reward,
)
from ...schemas.headers import CloudEvent, read_headers
from ...schemas.kinds import kinds
from ..engine.rewards.fates import CLOSED
from ..journal.entries import Entry
from ..journal.lines import read_entries
from ..outputs.decoder import EventDecoder
from ..outputs.deduplicator import Classification, Deduplicator
from ..records import Record, TopicPartition
from ..topics import Topics
from .dead_letters import fields_of

WITH_THE_DECISION = ("model-decision", "promise", "question", "recourse")
"""Kinds of outputs that come with a decision, and so before what follows decisions in the table of kinds."""
ESCAPE = b"\\"
DEAD_LETTER_TYPE = kinds["dead-letter"].ce_type.encode()


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


class History:
    """Collects the events about an application from records, which may come in any order of topics.

    The records of each partition come in their order. Events that two topics hold, input and journal, count once.

    Parameters
    ----------
    application
        Its name.
    program
        Its program; None for any.
    topics
        The installation's topics.
    """

    def __init__(self, application: str, program: str | None, topics: Topics) -> None:
        self._application, self._program, self._topics = application, program, topics
        self._name = application.encode()
        self._decoder = EventDecoder(topics)
        self._deduplicator = Deduplicator()
        self._by_identity: dict[tuple[str, int, int, str], Happening] = {}
        self.journal_partitions: set[int] = set()
        """The journal partitions that its answers and fates name: outputs have the partition of their journal."""
        self._refused_unnamed: list[DeadLetter] = []

    def feed(self, record: Record) -> None:
        """Read a record of any topic of the installation."""
        if record.topic == self._topics.journal:
            happenings = self._journaled(record)
        elif record.topic in self._topics.inputs:
            happenings = self._sent(record)
        else:
            happenings = self._published(record)
        for happening in happenings:
            identity = (happening.topic, happening.partition, happening.offset, _reason(happening))
            earlier = self._by_identity.get(identity)
            if earlier is None or (happening.was_read and not earlier.was_read):
                self._by_identity[identity] = happening

    @property
    def happenings(self) -> list[Happening]:
        """All events so far, by event time."""
        refused = {_place(happening) for happening in self._by_identity.values() if happening.kind == "dead-letter"}
        seen: set[tuple[str | None, str, str]] = set()
        ordered = []
        for happening in sorted(self._by_identity.values(), key=_when):
            if kinds[happening.kind].flow == "input":
                identity = (happening.program, happening.kind, happening.id)
                is_refused = _place(happening) in refused or self._is_refused_unnamed(happening)
                was_read, repeated = happening.was_read or is_refused, identity in seen
                happening = happening._replace(was_read=was_read, refused=is_refused, repeated=repeated)
                seen.add(identity)
            ordered.append(happening)
        return ordered

    def _sent(self, record: Record) -> Iterator[Happening]:
        """An event of an input topic. One that is no event becomes a dead letter."""
        if self._may_name_it(record.value):
            yield from (happening._replace(was_read=False) for happening in self._decoded(record))

    def _published(self, record: Record) -> Iterator[Happening]:
        """An event of an output topic, unless it is a repetition."""
        is_letter = record.topic == self._topics.dead_letters
        if self._deduplicator.classify(record) is not Classification.NEW:
            return
        if is_letter or self._may_name_it(record.value):
            for happening in self._decoded(record):
                if not is_letter:
                    self.journal_partitions.add(record.partition)
                yield happening

    def _decoded(self, record: Record) -> Iterator[Happening]:
        """The event of a record, if it is one about the application."""
        decoded, attributes = self._decoder.read(record), read_headers(record.headers)
        if decoded is not None and isinstance(attributes, CloudEvent) and self._concerns(decoded.event):
            time_ms = record.timestamp_ms if attributes.time_ms is None else attributes.time_ms
            yield self._happening(time_ms, record, decoded.id, decoded.event)

    def _journaled(self, record: Record) -> Iterator[Happening]:
        """The inputs in a journal record, and the dead letters, which the topic of dead letters may have lost."""
        value = record.value or b""
        if not self._may_name_it(value) and DEAD_LETTER_TYPE not in value:
            return
        for entry in read_entries(record):
            event = _public(entry)
            if entry.source is not None and event is not None and self._concerns(event):
                yield self._happening(entry.time_ms, _position(entry, entry.source), entry.id, event)

    def _happening(self, time_ms: int, record: Record, id: str, event: Struct) -> Happening:
        kind, program = kinds.by_struct[type(event)].name, _program(event)
        if isinstance(event, DeadLetter):
            record = record._replace(topic=event.topic, partition=event.partition, offset=event.offset)
        return Happening(time_ms, kind, record.topic, record.partition, record.offset, id, program, event)

    def _concerns(self, event: Struct) -> bool:
        """Whether an event is about the application, as far as a dead letter lets that be known."""
        program = _program(event)
        if self._program is not None and program not in (None, self._program):
            return False
        if isinstance(event, DeadLetter):
            if event.value is None or event.count is not UNSET:
                self._refused_unnamed.append(event)
            return self._letter_concerns(event)
        if isinstance(event, PromiseChange) and event.by == self._application:
            return True
        return getattr(event, "application", None) == self._application

    def _is_refused_unnamed(self, happening: Happening) -> bool:
        """Whether a dead letter without the record's value is about the event."""
        return any(
            (own.topic, own.partition) == (happening.topic, happening.partition)
            and own.offset <= happening.offset <= (own.offset if own.last_offset is UNSET else own.last_offset)
            for own in self._refused_unnamed
        )

    def _letter_concerns(self, letter: DeadLetter) -> bool:
        named = fields_of(letter).get("application")
        if isinstance(named, str):
            return named == self._application
        return letter.key == self._name or b'"%s"' % self._name in (letter.value or b"")

    def _may_name_it(self, value: bytes | None) -> bool:
        """Whether JSON may hold the application's name; with an escape in it, any text may be any other."""
        return value is not None and (self._name in value or ESCAPE in value)


def state_of(happenings: list[Happening]) -> str:
    """Where an application stands after these events of one program, in words."""
    events = [happening.event for happening in happenings]
    if any(one.kind == "erasure" and one.was_read and not one.refused for one in happenings):
        return "erased"
    promise = _promise(events)
    return _state(happenings, events) + (f"; {promise}" if promise else "")


def _promise(events: list[Struct]) -> str | None:
    """The end of the promise that an answer made; None without one."""
    answer = next((event for event in events if isinstance(event, Recourse | NoRecourse)), None)
    if isinstance(answer, Recourse) and any(option.status == "open" for option in answer.options):
        return _open_options(answer.application, events)
    if answer is None or answer.target_score is UNSET:
        return None
    ended = [event for event in events if isinstance(event, PromiseChange) and event.application == answer.application]
    if ended:
        return f"the promise is {ended[-1].status}, in round {ended[-1].settled_in}"
    if isinstance(answer, Recourse):
        return f"the promise holds up to round {answer.until_round}"
    return "the promise is open" if answer.reason == APPLY_AGAIN else None


def _open_options(application: str, events: list[Struct]) -> str:
    """The options of an application that are open, or how the promise of the last of them has ended."""
    until: dict[str, str | None] = {}
    end = ""
    for event in events:
        if isinstance(event, Recourse):
            # A revision extends the options that it leaves as they were, too.
            until = dict.fromkeys((*until, *(option.id for option in event.options)), event.expires_at)
        elif isinstance(event, PromiseChange) and event.application == application and isinstance(event.options, tuple):
            end = event.status
            until = {id: expires for id, expires in until.items() if id not in event.options}
    if not until:
        return f"no option is open: {end}"
    return f"open: {', '.join(f'option {id} until {expires}' for id, expires in sorted(until.items()))}"


def _state(happenings: list[Happening], events: list[Struct]) -> str:
    answers = [event for event in events if isinstance(event, Recourse | NoRecourse)]
    if any(isinstance(event, Reward) and event.fate in CLOSED for event in events):
        return "closed"
    if answers:
        return "waits for an outcome" if isinstance(answers[-1], Recourse) else "closed: there is no way forward"
    questions = [event for event in events if isinstance(event, Question)]
    if questions:
        return f"waits for the answer to question {questions[-1].number} until {questions[-1].expires_at}"
    if any(isinstance(event, Decision) and event.approved for event in events):
        return "approved"
    approved = [event for event in events if isinstance(event, ModelDecision) and event.approved]
    if approved:
        place = approved[0].round
        return f"approved: a place in round {place}" if isinstance(place, int) else "approved"
    applications = [happening for happening in happenings if happening.kind == "application"]
    if applications and not any(happening.was_read for happening in applications):
        return "no worker has read it yet"
    if all(happening.refused for happening in applications):
        refused = bool(applications) or any(isinstance(event, DeadLetter) for event in events)
        return "refused: see the dead letter" if refused else "its application is not on the topics"
    return "without an answer: it waits for its decision or its round, or the answer is no longer on the topic"


def _public(entry: Entry) -> Struct | None:
    """The event of a journal line as its sender wrote it; None where it concerns no application."""
    if entry.kind.name == "dead-letter":
        return entry.body
    body = entry.body
    if isinstance(body, RawErasure):
        return Erasure(body.program, body.application, body.applicant)
    if entry.kind.about != "case":
        return None
    event: Struct = entry.kind.decode(entry.raw)
    return event


def _position(entry: Entry, source: TopicPartition) -> Record:
    return Record(*source, entry.source_offset, entry.timestamp_ms, None, None, ())


def _program(event: Struct) -> str | None:
    program = fields_of(event).get("program") if isinstance(event, DeadLetter) else getattr(event, "program", None)
    return program if isinstance(program, str) else None


def _place(happening: Happening) -> tuple[str, int, int]:
    return happening.topic, happening.partition, happening.offset


def _reason(happening: Happening) -> str:
    return happening.event.reason if isinstance(happening.event, DeadLetter) else ""


def _when(happening: Happening) -> tuple[int, int, int, str, int, int]:
    return happening.time_ms, *_rank(happening.kind, happening.event), *_place(happening)


def _rank(kind: str, event: Struct) -> tuple[int, int]:
    """The order of events of the same time: that of the table of kinds, but for what a decision or an answer brings."""
    if kind in WITH_THE_DECISION:
        by = "answer" if _follows_answers(event) else "decision"
        return kinds.index(by), 1 + WITH_THE_DECISION.index(kind)
    return kinds.index(kind), 0


def _follows_answers(event: Struct) -> bool:
    """Whether an answer to a question brought it."""
    return (isinstance(event, Question) and event.number > 1) or (isinstance(event, Recourse) and bool(event.answers))
