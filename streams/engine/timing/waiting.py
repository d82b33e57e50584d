"""Events that came before the application or recourse that they refer to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import Raw

from ....schemas.kinds import kinds
from ...journal.entries import CaseKey, Entry, JournalPosition
from ...records import TopicPartition
from .timers import EVENT_TIME, WAIT, Timer


class WaitingEvent(NamedTuple):
    """An event that waits. ``expires_ms`` is the watermark at which it is given up, ``payload`` its original JSON."""

    position: JournalPosition
    key: CaseKey
    kind: str
    event_id: str
    time_ms: int
    timestamp_ms: int
    expires_ms: int
    source: TopicPartition | None
    source_offset: int
    payload: bytes

    @classmethod
    def of(cls, entry: Entry, expires_ms: int) -> WaitingEvent:
        """An entry that waits until ``expires_ms``."""
        return cls(
            entry.position,
            entry.key,
            entry.kind.name,
            entry.id,
            entry.time_ms,
            entry.timestamp_ms,
            expires_ms,
            entry.source,
            entry.source_offset,
            bytes(entry.raw),
        )

    @property
    def entry(self) -> Entry:
        """The entry that waited."""
        kind = kinds[self.kind]
        return Entry(
            self.position,
            self.key,
            self.timestamp_ms,
            self.event_id,
            self.time_ms,
            self.source,
            self.source_offset,
            kind,
            kind.decode_body(self.payload),
            Raw(self.payload),
        )

    @property
    def timer(self) -> Timer:
        """The timer that gives it up."""
        offset, line = self.position
        return Timer(self.key.program, WAIT, EVENT_TIME, self.expires_ms, f"{offset}.{line}")


def position_of(timer: Timer) -> JournalPosition:
    """The position of the event that a ``wait`` timer gives up. Equally due events are given up in this order."""
    offset, line = timer.key.split(".")
    return JournalPosition(int(offset), int(line))


@dataclass
class WaitingEvents:
    """The waiting events of a journal partition, at most ``limit``; those of a case in the order of the journal."""

    limit: int
    by_case: dict[CaseKey, list[WaitingEvent]] = field(default_factory=dict)
    _by_position: dict[JournalPosition, WaitingEvent] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._by_position)

    @property
    def full(self) -> bool:
        """Whether no more events may wait."""
        return len(self) >= self.limit

    def add(self, event: WaitingEvent) -> None:
        """Let an event wait."""
        self.by_case.setdefault(event.key, []).append(event)
        self._by_position[event.position] = event

    def holds(self, key: CaseKey, kind: str, event_id: str) -> bool:
        """Whether an event of this kind and id already waits for this case."""
        return any((waiting.kind, waiting.event_id) == (kind, event_id) for waiting in self.by_case.get(key, ()))

    def take(self, key: CaseKey) -> list[WaitingEvent]:
        """Take all events that wait for a case."""
        events = self.by_case.pop(key, [])
        for event in events:
            del self._by_position[event.position]
        return events

    def give_up(self, timer: Timer) -> WaitingEvent:
        """Take the event that a ``wait`` timer is for."""
        event = self._by_position.pop(position_of(timer))
        events = self.by_case[event.key]
        events.remove(event)
        if not events:
            del self.by_case[event.key]
        return event
