"""Where a case stands, kept event by event in whatever order the topics bring them: what queues and figures count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

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

    def take(self, time_ms: int, event: Struct) -> bool:
        """Take an event of the case into account; say whether it counts here."""
        take = _TAKES.get(type(event))
        return take is not None and take(self, time_ms, event)

    @property
    def last_ms(self) -> int:
        """The event time of the last event that counts here."""
        told = max(self.applied_ms, self.approved_ms, self.rejected_ms, self.told_ms, self.none_ms)
        return max(told, self.revised_ms, self.picked_ms, self.closed_ms, self.promise_ms, self.until_ms)

    @property
    def queue(self) -> Queue | None:
        """What the case waits for, the most urgent; None where it waits for nothing."""
        since = self.applied_ms
        if max(self.closed_ms, self.approved_ms) >= max(since, 0):
            return None
        if self.told_ms >= max(since, 0):
            if self.picked_ms >= self.told_ms and not self.picked:
                return "declined"
            changed_ms = max(self.revised_ms, self.taken_ms)
            return "changed" if changed_ms >= self.told_ms and self.picked_ms < changed_ms else "outcome"
        if self.none_ms >= max(since, 0):
            return "none"
        return "question" if self.question and self.question_until_ms >= since else None

    @property
    def due_ms(self) -> int | None:
        """Until when what the case waits for counts, in event time; None without an end."""
        due = self.question_until_ms if self.queue == "question" else self.until_ms
        return None if self.queue in (None, "none") or due < 0 else due


def _applied(standing: Standing, time_ms: int, _: Application) -> bool:
    standing.applied_ms = max(standing.applied_ms, time_ms)
    return True


def _decided(standing: Standing, time_ms: int, event: Decision | ModelDecision) -> bool:
    if event.approved:
        standing.approved_ms = max(standing.approved_ms, time_ms)
    else:
        standing.rejected_ms = max(standing.rejected_ms, time_ms)
    return True


def _asked(standing: Standing, _: int, event: Question) -> bool:
    if event.number >= standing.question:
        standing.question, standing.question_until_ms = event.number, parse_time(event.expires_at.encode())
    return True


def _told(standing: Standing, time_ms: int, event: Recourse) -> bool:
    if event.is_revision:
        standing.revised_ms = max(standing.revised_ms, time_ms)
    if time_ms >= standing.told_ms:
        standing.told_ms, standing.ways = time_ms, max(len(event.options), standing.ways if event.is_revision else 0)
        ends = event.expires_at or event.closes_at
        standing.until_ms = NEVER if ends is None else parse_time(ends.encode())
    return True


def _none(standing: Standing, time_ms: int, event: NoRecourse) -> bool:
    if time_ms >= standing.none_ms:
        standing.none_ms, standing.reason = time_ms, event.reason
    return True


def _answered(standing: Standing, time_ms: int, event: Answer) -> bool:
    if event.question is UNSET and time_ms >= standing.picked_ms:
        standing.picked_ms, standing.picked = time_ms, event.option or ""
    return True


def _ended(standing: Standing, time_ms: int, event: Reward) -> bool:
    if event.fate in CLOSED and time_ms >= standing.closed_ms:
        standing.closed_ms, standing.fate, standing.improved = time_ms, event.fate, bool(event.reward)
    return event.fate in CLOSED


def _promised(standing: Standing, time_ms: int, event: PromiseChange) -> bool:
    if time_ms >= standing.promise_ms:
        standing.promise_ms, standing.promise = time_ms, event.status
    if event.status == "broken" and event.by is None:
        standing.taken_ms = max(standing.taken_ms, time_ms)
    return True


_TAKES: Mapping[type[Struct], Callable[[Standing, int, Any], bool]] = {
    Application: _applied,
    Decision: _decided,
    ModelDecision: _decided,
    Question: _asked,
    Recourse: _told,
    NoRecourse: _none,
    Answer: _answered,
    Reward: _ended,
    PromiseChange: _promised,
}
