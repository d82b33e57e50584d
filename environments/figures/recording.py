"""What was read of a run, from the topics alone, and the figures of every run, which are queries on it.

    recording = Recording(simulation.is_rejected)
    for record, read in events: recording.add(record, read.id, read.event, now_ms)
    recording.summary({"linucb": scoreboard.now}, "loan-linucb", "linucb")

The worker's own counters are not used.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeVar, get_args

import numpy as np
from msgspec import Struct

from ...schemas.events import (
    Answer,
    Application,
    DeadLetter,
    Fate,
    Journaled,
    Model,
    ModelDecision,
    NoRecourse,
    Outcome,
    Recourse,
    Reward,
    Round,
)
from ...streams.advice import MANY_CHANGES
from ...streams.outputs.emission import GENERATION
from ...streams.records import Record
from ..rounds import ScorePoint

E = TypeVar("E", bound=Struct)
A = TypeVar("A", Recourse, NoRecourse)


class PromiseSummary(Struct, frozen=True):
    """How many promises are open, and how many have ended in which way."""

    open: int
    kept: int
    broken: int
    expired: int
    superseded: int

    @classmethod
    def from_counts(cls, opened: int, ended: Counter[str]) -> PromiseSummary:
        """The summary of all that were ``opened``, and those that have ``ended``, by status."""
        return cls(opened - ended.total(), *(ended[status] for status in ("kept", "broken", "expired", "superseded")))

    def __str__(self) -> str:
        names = ("kept", "broken", "superseded", "expired", "open")
        return ", ".join(f"{getattr(self, name):,} {name}" for name in names)


EXAMPLES = 2
"""People whose recourse is shown."""

CLOSING_FATES = ("rewarded", "censored", "unseen")
"""The fates that close a recourse."""


class PolicySummary(Struct, frozen=True):
    """A policy's score: ``mer`` is the mean expected reward over its answers, ``regret`` a sum over them.

    ``improvement`` and ``cost`` are means over its ``suggestions``, None without any.
    """

    mer: float
    improvement: float | None
    cost: float | None
    regret: float
    suggestions: int = 0


class Latency(Struct, frozen=True):
    """Seconds from an application's record time to the reading of its answer; None without any answer."""

    p50: float | None
    p99: float | None


class ShownAnswers(Struct, frozen=True):
    """The answers of the program whose examples are shown: those with a recourse, and those without by reason.

    ``examples`` are the answer to one person for each reason.
    """

    policy: str
    recourse: int
    none: dict[str, int]
    examples: dict[str, NoRecourse]

    @property
    def answers(self) -> int:
        """All of them."""
        return self.recourse + sum(self.none.values())

    @classmethod
    def from_answers(cls, recourses: Sequence[Recourse], none: Sequence[NoRecourse], policy: str) -> Self:
        """The answers of a program with the policy ``policy``; the example of a reason is the first by name."""
        examples = {
            reason: min((answer for answer in none if answer.reason == reason), key=_application)
            for reason in dict.fromkeys(answer.reason for answer in none)
        }
        return cls(policy, len(recourses), dict(Counter(answer.reason for answer in none)), examples)


class Summary(Struct, frozen=True):
    """The figures of every run; ``docs/reference/demo.md`` defines them. A world may have its own (``ShownWorld``)."""

    applications: int
    rejected: int
    recourse: int
    none: int
    lost: int
    duplicates: int
    conflicting_duplicates: int
    dead_letters: int
    fates: dict[str, int]
    open: int
    policies: dict[str, PolicySummary]
    oracle_mer: float
    events_per_second: float
    latency_seconds: Latency
    none_share: float | None = None
    options: int = 0
    mean_changes: float | None = None
    many_changes_share: float | None = None
    examples: tuple[Recourse, ...] = ()
    outcomes_are_simulated: bool = True
    shown_answers: ShownAnswers | None = None


class _Case(NamedTuple):
    program: str
    application: str


class Recording:
    """The records that were read, in any order: each event of an output topic once, by its kind.

    ``is_rejected(program, application)`` is whether the world's model rejects an application. Where programs close
    rounds, their decisions say it: it is then always false. ``records`` is the number of records that counted.
    """

    def __init__(self, is_rejected: Callable[[str, str], bool] = lambda *_: False) -> None:
        self._is_rejected = is_rejected
        self._events: defaultdict[type[Struct], list[Any]] = defaultdict(list)
        self._digests: dict[tuple[str, str], bytes] = {}
        self._is_conflict: list[bool] = []
        self._sent_ms: dict[_Case, int] = {}
        self._rejected: set[_Case] = set()
        self._answered_ms: dict[_Case, float] = {}
        self.records = 0
        self._first_ms = self._last_ms = 0.0

    def add(self, record: Record, identity: str, event: Struct, now_ms: float) -> None:
        """Count a record that was read at ``now_ms`` (since the epoch, as the records' timestamps).

        The lines of the journal do not count: they are what the inputs were.
        """
        if isinstance(event, Journaled):
            return
        self._first_ms = self._first_ms if self.records else now_ms
        self._last_ms = now_ms
        self.records += 1
        match event:
            case Application():
                self._application(_Case(event.program, event.application), record)
            case Answer() | Outcome() | Round() | Model():
                pass
            case _ if self._is_new(record, identity):
                self.note(event, now_ms)

    def note(self, event: Struct, now_ms: float = 0.0) -> None:
        """Count an event of an output topic."""
        self._events[type(event)].append(event)
        match event:
            case ModelDecision(approved=False, round=int()):
                self._rejected.add(_case(event))
            case Recourse(is_revision=False) | NoRecourse():
                self._answered_ms.setdefault(_case(event), now_ms)

    def events_of(self, kind: type[E]) -> Sequence[E]:
        """The events of a kind, in the order of reading."""
        return self._events.get(kind, ())

    @property
    def recourses(self) -> Sequence[Recourse]:
        """The first recourse of everybody who has one."""
        return [recourse for recourse in self.events_of(Recourse) if not recourse.is_revision]

    def summary(self, scores: Mapping[str, ScorePoint], shown: str = "", policy: str = "") -> Summary:
        """Everything so far. ``scores`` are those of the policies by name, all in the same world.

        The examples are of the program ``shown``, whose policy is called ``policy``.
        """
        recourses, none = self.recourses, self.events_of(NoRecourse)
        longest = max(scores.values(), key=lambda score: score.rounds, default=None)
        seconds = (self._last_ms - self._first_ms) / 1000
        changes = [len(option.changes) for recourse in recourses for option in recourse.options]
        answers, options = len(recourses) + len(none), len(changes)
        fates = Counter(reward.fate for reward in self.events_of(Reward))
        closed = {_case(reward) for reward in self.events_of(Reward) if reward.fate in CLOSING_FATES}
        return Summary(
            applications=len(self._sent_ms),
            rejected=len(self._rejected),
            recourse=len(recourses),
            none=len(none),
            lost=len(self._rejected - self._answered_ms.keys()),
            duplicates=len(self._is_conflict),
            conflicting_duplicates=sum(self._is_conflict),
            dead_letters=len(self.events_of(DeadLetter)),
            fates={fate: fates[fate] for fate in get_args(Fate)},
            open=len(set(map(_case, recourses)) - closed),
            policies={
                name: PolicySummary(score.mer, score.improvement, score.cost, score.regret, score.suggestions)
                for name, score in scores.items()
            },
            oracle_mer=0.0 if longest is None else longest.oracle_mer,
            events_per_second=self.records / seconds if seconds > 0 else 0.0,
            latency_seconds=self._latency(),
            none_share=len(none) / answers if answers else None,
            options=options,
            mean_changes=sum(changes) / options if options else None,
            many_changes_share=sum(number > MANY_CHANGES for number in changes) / options if options else None,
            examples=tuple(sorted(_answers_of(recourses, shown), key=_application)[:EXAMPLES]),
            shown_answers=ShownAnswers.from_answers(_answers_of(recourses, shown), _answers_of(none, shown), policy)
            if shown
            else None,
        )

    def _application(self, case: _Case, record: Record) -> None:
        if case not in self._sent_ms:
            self._sent_ms[case] = record.timestamp_ms
            if self._is_rejected(*case):
                self._rejected.add(case)

    def _is_new(self, record: Record, identity: str) -> bool:
        # A later owner of the partition repeats a record of the former owner under its own generation.
        headers = tuple(header for header in record.headers if header[0] != GENERATION)
        digest = hashlib.sha256(repr((record.key, record.value, headers)).encode()).digest()
        first = self._digests.setdefault((record.topic, identity), digest)
        if first is not digest:
            self._is_conflict.append(first != digest)
        return first is digest

    def _latency(self) -> Latency:
        latencies = [
            (answered_ms - self._sent_ms[case]) / 1000
            for case, answered_ms in self._answered_ms.items()
            if case in self._sent_ms
        ]
        if not latencies:
            return Latency(None, None)
        p50, p99 = np.quantile(latencies, (0.5, 0.99))
        return Latency(float(p50), float(p99))


def _case(event: ModelDecision | Recourse | NoRecourse | Reward) -> _Case:
    return _Case(event.program, event.application)


def _answers_of(answers: Sequence[A], program: str) -> Sequence[A]:
    return [answer for answer in answers if answer.program == program]


def _application(answer: Recourse | NoRecourse) -> str:
    return answer.application
