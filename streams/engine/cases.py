"""A case: what the ledger knows of one application, from its arrival to its fate."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ..journal.entries import CaseKey, Entry
from .timing.timers import ANSWER_DEADLINE, EVENT_TIME, FORGET_CASE, FORGET_EVENT, WINDOW, Timer, new_timer


class Status(IntEnum):
    """Where a case stands. The numbers are stored: never renumber."""

    AWAITING_DECISION = 0
    APPROVED = 1
    NO_RECOURSE = 2
    OPEN = 3
    REWARDED = 4
    CENSORED = 5
    UNSEEN = 6
    IN_ROUND = 7
    ASKED = 8


# In Python 3.11 an attribute of an enum costs as much as a new case.
AWAITING_DECISION, APPROVED, NO_RECOURSE, OPEN, REWARDED, CENSORED, UNSEEN, IN_ROUND, ASKED = Status


class Wait(NamedTuple):
    """A way in which a case waits.

    ``timer`` is the kind of the timer that ends the wait at ``Case.due``, if no event has ended it before. ``lacks``
    is what has not come yet, or has no answer yet: events of the kinds that wait for it are not applied. The cases of a
    ``pooled`` wait are read when a ledger is opened; the others stay in the ledger until something touches them.
    """

    timer: str
    lacks: Literal["decision"] | None = None
    pooled: bool = False


_CLOSED = Wait(FORGET_CASE)
_WAITS = {
    AWAITING_DECISION: Wait(FORGET_CASE, lacks="decision"),  # a decision ends it
    IN_ROUND: Wait(FORGET_CASE, lacks="decision", pooled=True),  # the end of its round
    ASKED: Wait(ANSWER_DEADLINE, lacks="decision"),  # the answer after which nothing is asked any more
    OPEN: Wait(WINDOW),  # an outcome
}
WAITS: Final[Sequence[Wait]] = tuple(_WAITS.get(status, _CLOSED) for status in Status)
"""How a case of each status waits, by the status's number. A closed case waits to be forgotten."""

CASE_TIMERS: Final = frozenset(wait.timer for wait in WAITS)
"""The kinds of timers that follow from cases. Every case has exactly one of them, which is written when a portion ends.

It is never cancelled: when it fires, it counts if it is still that of its case (``CaseTimerHandler``).
"""


class CaseOption(Struct, frozen=True, gc=False, array_like=True):
    """An option that a person was given: its arm, and the execution probability that the learner counts it with.

    ``context`` is what the learner wants to know again when the outcome comes.

    ``revised_arm`` is the arm of the option that stands for it, where a new model broke it and left none on its own.
    The learner did not pick that one, so it learns nothing from what comes of it.

    ``target`` is what it asked for, where a program learns from people who come back (``rewards/returns.py``).
    """

    arm: int
    execution: float
    revised_arm: int | None = None
    context: bytes = b""
    target: bytes = b""

    @property
    def arm_name(self) -> str:
        """The arm of what the person has now, as the ``candidate`` of events."""
        return str(self.arm if self.revised_arm is None else self.revised_arm)


class Picked(Struct, gc=False, array_like=True):
    """The pick of a person among their options.

    ``place`` is the index of the option that they would take, from 0, and the number of options where they would take
    none; None while nothing was said. ``taught`` is the index of the lesson that was learned from it. ``lessons`` is
    what each option would teach, and last what none would (``picks/pick.py``), until the case is closed.
    """

    lessons: bytes = b""
    place: int | None = None
    taught: int | None = None


class Acting(Struct, frozen=True, gc=False, array_like=True):
    """Whether a person carried an option out: ``option`` is its index, None where nobody knows which.

    ``event`` is the ``ce_id`` of what said so. It is None where nothing was heard until the window to act had passed,
    and empty where they came back. ``taught`` are the indices of the options whose pulls the learner has learned it of.
    """

    acted: bool
    option: int | None = None
    event: str | None = None
    taught: tuple[int, ...] = ()

    @property
    def is_heard(self) -> bool:
        """Whether anything was heard of the person."""
        return self.event is not None


class QuestionLog(Struct, frozen=True, gc=False, array_like=True):
    """The questions to a person, and their answers.

    ``questions`` are the encoded targets of the plans of each question, by its number. ``answers`` has a byte for each
    that is answered: the place of the picked plan, or that nothing was picked. The ``earlier`` first of them are to
    questions of another model or spec (``questions/recall.py``). ``offered`` is the number of plans of the last
    question, ``expires_ms`` the event time up to which answers count. ``believed`` are the shares of the population's
    ``Preferences`` when they were first asked, which others' answers do not change for them; empty where nothing was
    learned. ``regrets`` are the encoded ``ElicitedAnswers.regrets`` of the recourse that followed.
    """

    questions: tuple[bytes, ...]
    answers: bytes
    offered: int
    expires_ms: int
    believed: bytes = b""
    earlier: int = 0
    regrets: bytes = b""


class Case(Struct, gc=False, array_like=True):
    """One application. Stored as an array: never reorder the fields.

    ``time_ms`` is the event time of the application and, once there is one, of the decision if that is later.
    ``application_event_id``, ``decision_event_id`` and ``outcome_event_id`` are the ``ce_id`` of the events that were
    applied, to recognise a repeat.
    ``features`` is the application's JSON, kept until the case is closed. ``score`` is the one under the model at the
    decision. Option n of ``options``, counted from 1, is the recourse's option with the id n. ``deadline_ms`` is the
    end of a window in event time.

    ``due`` is when the case's timer fires: when the watermark passes this event time or, for a window in steps, at
    this step of the shard.

    In a program with rounds, ``previous`` is the earlier application that this one names, and ``from_round`` the number
    of the first round that it may belong to. Where another system decides, ``approved`` is what it said, and
    ``decided_ms`` the event time of that. ``picked`` is what the person has said of
    their options, and what that teaches. In a program that asks, ``asked`` is what they were asked before they got any.
    ``acting`` is whether they are known to have carried an option out.
    """

    key: CaseKey
    shard: int
    status: Status
    time_ms: int
    application_event_id: str
    due: int = 0
    applicant: str | None = None
    decision_event_id: str | None = None
    outcome_event_id: str | None = None
    features: bytes | None = None
    score: float | None = None
    step: int | None = None
    options: tuple[CaseOption, ...] = ()
    deadline_ms: int | None = None
    previous: str | None = None
    from_round: int = 0
    approved: bool | None = None
    decided_ms: int | None = None
    picked: Picked | None = None
    asked: QuestionLog | None = None
    acting: Acting | None = None

    @property
    def features_json(self) -> bytes:
        """The JSON of its features; null where they are forgotten."""
        return self.features or b"null"

    @property
    def picked_option(self) -> int | None:
        """The index of the option that the person has said they would take; None for none, and without an answer."""
        place = None if self.picked is None else self.picked.place
        return None if place == len(self.options) else place

    @property
    def is_undecided(self) -> bool:
        """Whether nobody has approved or rejected it yet."""
        return WAITS[self.status].lacks == "decision"

    @property
    def counts_steps(self) -> bool:
        """Whether its timer is one of steps."""
        return self.status is OPEN and self.deadline_ms is None

    def is_over(self, time_ms: int) -> bool:
        """Whether its window of event time had ended before this time: its last millisecond belongs to it."""
        return self.deadline_ms is not None and time_ms > self.deadline_ms

    def wait(self, status: Status, due: int) -> None:
        """Let it wait in this way until its timer is due, or an event comes."""
        self.status, self.due = status, due

    def close(self, status: Status, forget_ms: int) -> None:
        """Close it: it is kept until ``forget_ms``, to recognise repeats. Its features are forgotten at once."""
        self.status, self.due, self.features = status, forget_ms, None
        if self.picked is not None:
            self.picked.lessons = b""
        if self.asked is not None:
            questions = (b"",) * len(self.asked.questions)
            self.asked = replace(self.asked, questions=questions, believed=b"", regrets=b"")


def timer_of(case: Case) -> Timer:
    """The timer of a case."""
    program, application = case.key
    kind, clock = WAITS[case.status].timer, case.shard if case.counts_steps else EVENT_TIME
    return new_timer((program, kind, clock, case.due, application))


class ProcessedEvent(NamedTuple):
    """The key of an event that ended without changing a case. A ``ce_id`` alone is unique for its sender only."""

    program: str
    name: str

    def timer(self, forget_ms: int) -> Timer:
        """The timer that forgets it."""
        return Timer(self.program, FORGET_EVENT, EVENT_TIME, forget_ms, self.name)


def processed_event(entry: Entry) -> ProcessedEvent:
    """The name of an entry's event, which is about a case."""
    program, application = entry.key
    return ProcessedEvent(program, joined(entry.kind.name, application, entry.id))


def is_about(event: ProcessedEvent, key: CaseKey) -> bool:
    """Whether a processed event is one about this case."""
    return event.program == key.program and event.name.split("/")[1] == joined(key.application)


def joined(*names: str) -> str:
    """Join names with ``/``, escaping it, so that different names never give the same result."""
    return "/".join(name.replace("%", "%25").replace("/", "%2F") for name in names)
