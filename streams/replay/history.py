"""The history of an application: everything that the topics hold about it, in the order of event time."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from itertools import accumulate
from typing import NamedTuple

from msgspec import UNSET, Struct

from ...schemas.events import (
    APPLY_AGAIN,
    Application,
    DeadLetter,
    Decision,
    Erasure,
    ModelDecision,
    NoRecourse,
    PromiseChange,
    Question,
    Recourse,
    Reward,
)
from ...schemas.kinds import kinds
from ..engine.rewards.fates import CLOSED
from ..journal.entries import JournalPosition
from ..records import Record, TopicPartition
from ..topics import Topics
from .dead_letters import fields_of
from .happenings import FoundHappening, Happening, HappeningReader, refused_offsets

WITH_THE_DECISION = ("model-decision", "promise", "question", "recourse")
"""Kinds of outputs that come with a decision, and so before what follows decisions in the table of kinds."""
ESCAPE = b"\\"


class _Places:
    """The offsets of partitions that ranges hold."""

    def __init__(self, ranges: Mapping[TopicPartition, Set[tuple[int, int]]]) -> None:
        self._starts = {partition: [first for first, _ in sorted(spans)] for partition, spans in ranges.items()}
        # The furthest end of all that begin no later.
        self._ends = {
            partition: list(accumulate((last for _, last in sorted(spans)), max)) for partition, spans in ranges.items()
        }

    def hold(self, topic: str, partition: int, offset: int) -> bool:
        """Whether a range holds the offset."""
        at = TopicPartition(topic, partition)
        before = bisect_right(self._starts.get(at, ()), offset)
        return before > 0 and self._ends[at][before - 1] >= offset


class _ApplicantErasure(NamedTuple):
    """An erasure of an applicant: it erases what came to the journal before, and what was sent up to ``until_ms``."""

    happening: Happening
    applicant: str
    until_ms: int
    place: JournalPosition | None


class CaseHistory:
    """The happenings of one application, collected in any order. Those that two topics hold, input and journal, count
    once.

    Parameters
    ----------
    application
        Its name.
    program
        Its program; None for any.
    """

    def __init__(self, application: str, program: str | None) -> None:
        self._application, self._program = application, program
        self._name = application.encode()
        self._by_identity: dict[tuple[str, int, int, str], Happening] = {}
        self._refused_unnamed: defaultdict[TopicPartition, set[tuple[int, int]]] = defaultdict(set)
        self._applied_ms: dict[tuple[str, str], int] = {}
        self._applied_at: dict[tuple[str, str, int], JournalPosition] = {}
        """When, and where in each journal partition, the application came first, by program and applicant."""
        self._erasures: dict[tuple[str, int, int, int], _ApplicantErasure] = {}
        """The erasures of any applicant, by their own position and the journal partition."""

    def add(self, found: FoundHappening) -> bool:
        """Keep what is about the application; say whether it is.

        Of any application's dead letters it is noted which records they refuse, and of erasures which applicant's.
        """
        happening, event = found.happening, found.happening.event
        if isinstance(event, Erasure) and event.applicant is not None:
            if self._program in (None, event.program):
                erasure = _ApplicantErasure(happening, event.applicant, found.until_ms, found.place)
                self._erasures[*_place(happening), found.journal] = erasure
            return False
        if self._program is not None and happening.program not in (None, self._program):
            return False
        if isinstance(event, DeadLetter) and (refused := refused_offsets(event)):
            self.refuse(*refused)
        if not self._concerns(event):
            return False
        if isinstance(event, Application) and isinstance(event.applicant, str):
            self._note_applicant(event.program, event.applicant, found)
        identity = (*_place(happening), reason_of(event))
        earlier = self._by_identity.get(identity)
        if earlier is None or (happening.was_read and not earlier.was_read):
            self._by_identity[identity] = happening
        return True

    def refuse(self, partition: TopicPartition, first: int, last: int) -> None:
        """Note that the records from one offset to another became dead letters."""
        self._refused_unnamed[partition].add((first, last))

    @property
    def happenings(self) -> list[Happening]:
        """All happenings so far, by event time."""
        by_identity = self._with_erasures()
        refused = {_place(happening) for happening in by_identity.values() if happening.kind == "dead-letter"}
        unnamed = _Places(self._refused_unnamed)
        seen: set[tuple[str | None, str, str]] = set()
        ordered = []
        for happening in sorted(by_identity.values(), key=_when):
            if kinds[happening.kind].flow == "input":
                identity, place = (happening.program, happening.kind, happening.id), _place(happening)
                is_refused = place in refused or unnamed.hold(*place)
                was_read, repeated = happening.was_read or is_refused, identity in seen
                happening = happening._replace(was_read=was_read, refused=is_refused, repeated=repeated)
                seen.add(identity)
            ordered.append(happening)
        return ordered

    def _with_erasures(self) -> dict[tuple[str, int, int, str], Happening]:
        """The happenings, with those that erase the application's applicant."""
        found = dict(self._by_identity)
        for (topic, partition, offset, journal), erasure in self._erasures.items():
            if self._erases(erasure, journal):
                identity = topic, partition, offset, ""
                if identity not in found or erasure.happening.was_read:
                    found[identity] = erasure.happening
        return found

    def _erases(self, erasure: _ApplicantErasure, journal: int) -> bool:
        who = str(erasure.happening.program), erasure.applicant
        first_ms, first = self._applied_ms.get(who), self._applied_at.get((*who, journal))
        is_before = first is not None and erasure.place is not None and first < erasure.place
        return is_before or (first_ms is not None and first_ms <= erasure.until_ms)

    def _note_applicant(self, program: str, applicant: str, found: FoundHappening) -> None:
        who, time_ms = (program, applicant), found.happening.time_ms
        self._applied_ms[who] = min(time_ms, self._applied_ms.get(who, time_ms))
        if found.place is not None:
            at = (*who, found.journal)
            self._applied_at[at] = min(found.place, self._applied_at.get(at, found.place))

    def _concerns(self, event: Struct) -> bool:
        """Whether an event is about the application, as far as a dead letter lets that be known."""
        if isinstance(event, DeadLetter):
            return self._letter_concerns(event)
        if isinstance(event, PromiseChange) and event.by == self._application:
            return True
        return getattr(event, "application", None) == self._application

    def _letter_concerns(self, letter: DeadLetter) -> bool:
        named = fields_of(letter).get("application")
        if isinstance(named, str):
            return named == self._application
        return letter.key == self._name or b'"%s"' % self._name in (letter.value or b"")


class History:
    """Collects the happenings of an application from records, which may come in any order of topics.

    The records of each partition come in their order.

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
        self._name = application.encode()
        self._reader, self._case = HappeningReader(topics), CaseHistory(application, program)
        self.journal_partitions: set[int] = set()
        """The journal partitions that its answers and fates name: outputs have the partition of their journal."""

    def feed(self, record: Record) -> None:
        """Read a record of any topic of the installation."""
        for found in self._reader.read(record, self._may_name_it):
            if self._case.add(found) and found.is_output:
                self.journal_partitions.add(record.partition)

    @property
    def happenings(self) -> list[Happening]:
        """All happenings so far, by event time."""
        return self._case.happenings

    def _may_name_it(self, value: bytes | None) -> bool:
        """Whether JSON may hold the application's name; with an escape in it, any text may be any other."""
        return value is not None and (self._name in value or ESCAPE in value)


def since_latest(happenings: Sequence[Happening]) -> Sequence[Happening]:
    """The events from the latest application on, by event time: one that comes again under its name begins anew."""
    begins = [
        place
        for place, happening in enumerate(happenings)
        if isinstance(happening.event, Application) and not happening.refused and not happening.repeated
    ]
    return happenings[begins[-1] :] if len(begins) > 1 else happenings


def state_of(happenings: list[Happening]) -> str:
    """Where an application stands after these events of one program, in words."""
    erasures = [erasure for erasure in happenings if erasure.kind == "erasure" and not erasure.refused]
    if erasures:
        is_done = any(erasure.was_read for erasure in erasures)
        return "erased" if is_done else "to be erased; erased where the journal no longer holds the erasure"
    latest = since_latest(happenings)
    events = [happening.event for happening in latest]
    promise = _promise(events)
    return _state(latest, events) + (f"; {promise}" if promise else "")


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


def _state(happenings: Sequence[Happening], events: list[Struct]) -> str:
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


def _place(happening: Happening) -> tuple[str, int, int]:
    return happening.topic, happening.partition, happening.offset


def reason_of(event: Struct) -> str:
    """Why a record became this dead letter; nothing of another event. With its position it identifies a happening."""
    return event.reason if isinstance(event, DeadLetter) else ""


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
