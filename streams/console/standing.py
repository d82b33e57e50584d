"""Where a case stands, kept event by event in whatever order the topics bring them: what queues and figures count."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct

from ...schemas.events import (
    Answer,
    Application,
    Decision,
    ModelDecision,
    NoRecourse,
    PromiseChange,
    Question,
    Recourse,
    Reward,
)
from ...schemas.headers import parse_time
from ..engine.rewards.fates import CLOSED

Queue = Literal["changed", "question", "declined", "outcome", "none"]
"""What a case waits for: that somebody reads new ways or answers a question, that a person helps whom no way suits,
an outcome, or somebody who finds a way where there is none."""
QUEUES: tuple[Queue, ...] = ("changed", "question", "outcome", "none", "declined")
NEVER = -1


class Standing(Struct, omit_defaults=True, array_like=True, gc=False):
    """What is known of a case. Each ``_ms`` is the event time of the latest event of its kind, -1 without one.

    An application that comes again under the same name begins anew: what is older than it does not count.
    """

    applied_ms: int = NEVER
    approved_ms: int = NEVER
    rejected_ms: int = NEVER
    question: int = 0
    question_until_ms: int = NEVER
    told_ms: int = NEVER
    ways: int = 0
    until_ms: int = NEVER
    revised_ms: int = NEVER
    none_ms: int = NEVER
    reason: str = ""
    picked_ms: int = NEVER
    picked: str = ""
    closed_ms: int = NEVER
    fate: str = ""
    improved: bool = False
    promise_ms: int = NEVER
    promise: str = ""
    taken_ms: int = NEVER
    """When a new model last took a way."""
    closes_ms: int = NEVER
    """The end of the outcome window, after which no answer counts."""

    def take(self, time_ms: int, event: Struct) -> bool:
        """Take an event of the case into account; say whether it counts here."""
        match event:
            case Application():
                self.applied_ms = max(self.applied_ms, time_ms)
            case Decision(approved=True) | ModelDecision(approved=True):
                self.approved_ms = max(self.approved_ms, time_ms)
            case Decision() | ModelDecision():
                self.rejected_ms = max(self.rejected_ms, time_ms)
            case Question() if event.number >= self.question:
                self.question, self.question_until_ms = event.number, parse_time(event.expires_at.encode())
            case Recourse():
                self._tell(time_ms, event)
            case NoRecourse() if time_ms >= self.none_ms:
                self.none_ms, self.reason = time_ms, event.reason
                if isinstance(event.expires_at, str):
                    self.until_ms = max(self.until_ms, parse_time(event.expires_at.encode()))
            case Answer() if event.question is UNSET and time_ms >= self.picked_ms and not self._is_late(time_ms):
                self.picked_ms, self.picked = time_ms, event.option or ""
            case Reward() if event.fate in CLOSED and time_ms >= self.closed_ms:
                self.closed_ms, self.fate, self.improved = time_ms, event.fate, bool(event.reward)
            case PromiseChange():
                if time_ms >= self.promise_ms:
                    self.promise_ms, self.promise = time_ms, event.status
                if event.status == "broken" and event.by is None:
                    self.taken_ms = max(self.taken_ms, time_ms)
            case _:
                return False
        return True

    def _tell(self, time_ms: int, event: Recourse) -> None:
        if event.is_revision:
            self.revised_ms = max(self.revised_ms, time_ms)
        if time_ms >= self.told_ms:
            self.told_ms, self.ways = time_ms, max(len(event.options), self.ways if event.is_revision else 0)
            ends = event.expires_at or event.closes_at
            self.until_ms = NEVER if ends is None else parse_time(ends.encode())
            if not event.is_revision:
                self.closes_ms = NEVER if event.closes_at is None else parse_time(event.closes_at.encode())

    def _is_late(self, time_ms: int) -> bool:
        return 0 <= self.closes_ms < time_ms

    @property
    def answered_ms(self) -> int:
        """When they answered their ways last; -1 where they did not, or too late."""
        return NEVER if self._is_late(self.picked_ms) else self.picked_ms  # it may be read before its recourse

    @property
    def last_ms(self) -> int:
        """The event time of the last event that counts here."""
        told = max(self.applied_ms, self.approved_ms, self.rejected_ms, self.told_ms, self.none_ms)
        ends = max(self.until_ms, self.closes_ms)
        return max(told, self.revised_ms, self.picked_ms, self.closed_ms, self.promise_ms, ends)

    def ended_before(self, time_ms: int) -> bool:
        """Whether the case had its last event before then, and waits for nothing that people or time still bring."""
        is_over = self.queue in (None, "none") or (self.queue == "declined" and max(self.until_ms, self.closes_ms) >= 0)
        return is_over and self.last_ms < time_ms

    @property
    def queue(self) -> Queue | None:
        """What the case waits for, the most urgent; None where it waits for nothing."""
        since = self.applied_ms
        if max(self.closed_ms, self.approved_ms) >= max(since, 0):
            return None
        if self.told_ms >= max(since, 0):
            if self.answered_ms >= self.told_ms and not self.picked:
                return "declined"
            changed_ms = max(self.revised_ms, self.taken_ms)
            return "changed" if changed_ms >= self.told_ms and self.answered_ms < changed_ms else "outcome"
        if self.none_ms >= max(since, 0):
            return "none"
        return "question" if self.question and self.question_until_ms >= since else None

    @property
    def due_ms(self) -> int | None:
        """Until when what the case waits for counts, in event time; None without an end."""
        due = self.question_until_ms if self.queue == "question" else self.until_ms
        return None if self.queue in (None, "none") or due < 0 else due
