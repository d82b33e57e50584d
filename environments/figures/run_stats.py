"""Statistics of a run, from the records that a consumer read from the topics alone.

    stats = RunStats(simulation.is_rejected, "loan-residual", figures.add)
    for record, read in events: stats.add(record, read.id, read.event, now_ms)
    stats.summary({"linucb": scoreboard.now})

The worker's own counters are not used.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple, get_args

import msgspec
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
from ..rounds import Point


class PromiseSummary(Struct, frozen=True):
    """How many promises are open, and how many have ended in which way."""

    open: int
    kept: int
    broken: int
    expired: int
    superseded: int

    @classmethod
    def of(cls, opened: int, ended: Counter[str]) -> PromiseSummary:
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


class Summary(Struct, frozen=True):
    """The figures of every run; ``docs/reference/demo.md`` defines them. A world may have its own (``Figures``)."""

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


def encoded(summary: Summary, own: Struct | None) -> bytes:
    """The output of ``onward demo --json``: the figures of every run, then the world's ``own``."""
    return msgspec.json.encode({**msgspec.to_builtins(summary), **(msgspec.to_builtins(own) if own else {})})


class _Case(NamedTuple):
    program: str
    application: str


class RunStats:
    """Adds records up, in any order.

    ``is_rejected(program, application)`` is whether the world's model rejects an application. Where programs close
    rounds, their decisions say it: it is then always false. The examples are of the program ``shown``, whose policy is
    called ``policy``, and ``on_output`` gets each event of an output topic once. ``records`` is the number of records
    that counted.
    """

    def __init__(
        self,
        is_rejected: Callable[[str, str], bool],
        shown: str = "",
        on_output: Callable[[Struct], None] = lambda _: None,
        policy: str = "",
    ) -> None:
        self._is_rejected, self._on_output = is_rejected, on_output
        self._shown, self._policy, self._examples = shown, policy, tuple[Recourse, ...]()
        self._shown_recourses = 0
        self._none: Counter[str] = Counter()
        self._none_examples: dict[str, NoRecourse] = {}
        self._digests: dict[tuple[str, str], bytes] = {}
        self._sent_ms: dict[_Case, int] = {}
        self._rejected: set[_Case] = set()
        self._answered_ms: dict[_Case, float] = {}
        self._recourses: set[_Case] = set()
        self._closed: set[_Case] = set()
        self._counts: Counter[str] = Counter()
        self._fates: Counter[str] = Counter()
        self._changes: Counter[int] = Counter()
        self.records = 0
        self._first_ms = self._last_ms = 0.0

    @property
    def answers(self) -> int:
        """Number of rejected people who were answered."""
        return len(self._rejected & self._answered_ms.keys())

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
            case _:
                if self._is_new(record, identity):
                    self._output(event, now_ms)

    def summary(self, scores: Mapping[str, Point]) -> Summary:
        """Everything so far. ``scores`` are those of the policies by name, all in the same world."""
        longest = max(scores.values(), key=lambda score: score.rounds, default=None)
        seconds = (self._last_ms - self._first_ms) / 1000
        answers, options = self._counts["recourse"] + self._counts["none"], self._changes.total()
        changes = sum(number * count for number, count in self._changes.items())
        many = sum(count for number, count in self._changes.items() if number > MANY_CHANGES)
        return Summary(
            applications=len(self._sent_ms),
            rejected=len(self._rejected),
            recourse=self._counts["recourse"],
            none=self._counts["none"],
            lost=len(self._rejected) - self.answers,
            duplicates=self._counts["duplicates"],
            conflicting_duplicates=self._counts["conflicting_duplicates"],
            dead_letters=self._counts["dead_letters"],
            fates={fate: self._fates[fate] for fate in get_args(Fate)},
            open=len(self._recourses - self._closed),
            policies={
                name: PolicySummary(score.mer, score.improvement, score.cost, score.regret, score.suggestions)
                for name, score in scores.items()
            },
            oracle_mer=0.0 if longest is None else longest.oracle_mer,
            events_per_second=self.records / seconds if seconds > 0 else 0.0,
            latency_seconds=self._latency(),
            none_share=self._counts["none"] / answers if answers else None,
            options=options,
            mean_changes=changes / options if options else None,
            many_changes_share=many / options if options else None,
            examples=self._examples,
            shown_answers=ShownAnswers(self._policy, self._shown_recourses, dict(self._none), dict(self._none_examples))
            if self._shown
            else None,
        )

    def _application(self, case: _Case, record: Record) -> None:
        if case in self._sent_ms:
            return
        self._sent_ms[case] = record.timestamp_ms
        if self._is_rejected(*case):
            self._rejected.add(case)

    def _is_new(self, record: Record, identity: str) -> bool:
        # A later owner of the partition repeats a record of the former owner under its own generation.
        headers = tuple(header for header in record.headers if header[0] != GENERATION)
        digest = hashlib.sha256(repr((record.key, record.value, headers)).encode()).digest()
        first = self._digests.setdefault((record.topic, identity), digest)
        if first is digest:
            return True
        self._counts["duplicates"] += 1
        self._counts["conflicting_duplicates"] += first != digest
        return False

    def _output(self, event: Struct, now_ms: float) -> None:
        self._on_output(event)
        match event:
            case ModelDecision(approved=False, round=int()):
                self._rejected.add(_Case(event.program, event.application))
            case DeadLetter():
                self._counts["dead_letters"] += 1
            case Reward():
                self._fates[event.fate] += 1
                if event.fate in CLOSING_FATES:
                    self._closed.add(_Case(event.program, event.application))
            case Recourse() if not event.is_revision:
                self._counts["recourse"] += 1
                self._changes.update(len(option.changes) for option in event.options)
                self._show(event)
                self._recourses.add(_Case(event.program, event.application))
                self._answered_ms.setdefault(_Case(event.program, event.application), now_ms)
            case NoRecourse():
                self._counts["none"] += 1
                self._show_none(event)
                self._answered_ms.setdefault(_Case(event.program, event.application), now_ms)

    def _show(self, event: Recourse) -> None:
        """Keep the recourses with the first names as examples, in whatever order they are read."""
        if event.program == self._shown:
            self._shown_recourses += 1
            known = [*self._examples, event]
            self._examples = tuple(sorted(known, key=lambda one: one.application)[:EXAMPLES])

    def _show_none(self, event: NoRecourse) -> None:
        """Count the answers without a recourse by reason, and keep the one with the first name as the example."""
        if event.program == self._shown:
            self._none[event.reason] += 1
            first = self._none_examples.get(event.reason, event)
            self._none_examples[event.reason] = min(first, event, key=lambda one: one.application)

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
