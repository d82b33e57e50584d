"""Events that came before the application or recourse that they refer to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ...journal.entries import CaseKey, Entry, JournalPosition
from .timers import EVENT_TIME, WAIT, Timer


class WaitingEvent(NamedTuple):
    """An entry that waits until the watermark passes ``expires_ms``: then it is given up."""

    entry: Entry
    expires_ms: int

    @property
    def timer(self) -> Timer:
        """The timer that gives it up."""
        offset, line = self.entry.position
        return Timer(self.entry.key.program, WAIT, EVENT_TIME, self.expires_ms, f"{offset}.{line}")


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
        self.by_case.setdefault(event.entry.key, []).append(event)
        self._by_position[event.entry.position] = event

    def holds(self, entry: Entry) -> bool:
        """Whether an event of its kind and id already waits for its case."""
        name = entry.kind.name, entry.id
        return any((other.kind.name, other.id) == name for other, _ in self.by_case.get(entry.key, ()))

    def take(self, key: CaseKey) -> list[WaitingEvent]:
        """Take all events that wait for a case."""
        events = self.by_case.pop(key, [])
        for event in events:
            del self._by_position[event.entry.position]
        return events

    def give_up(self, timer: Timer) -> Entry:
        """Take the entry that a ``wait`` timer is for."""
        event = self._by_position.pop(position_of(timer))
        events = self.by_case[event.entry.key]
        events.remove(event)
        if not events:
            del self.by_case[event.entry.key]
        return event.entry
