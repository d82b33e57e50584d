"""What the engine publishes: events with their position in the journal, and the records they become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import NamedTuple

import msgspec
from msgspec import Struct

from ...schemas.events import DeadLetter, NoRecourse, Output, Recourse, Reward
from ...schemas.headers import TYPES, cloud_event_headers
from ..records import OutRecord
from ..topics import Topics

POSITION = "onward_position"
GENERATION = "onward_generation"
_HEADER = b"%d.%d"
_encode = msgspec.json.Encoder().encode


class OutputPosition(NamedTuple):
    """Where an output comes from: the journal offset, and its number among that record's outputs."""

    offset: int
    number: int

    def header(self) -> bytes:
        """As it stands in the output's ``onward_position`` header."""
        return _HEADER % self

    @classmethod
    def parse(cls, header: bytes) -> OutputPosition:
        """Read the header back; raise ``ValueError`` when it is not one."""
        offset, number = header.split(b".")
        return cls(int(offset), int(number))


class Emission(Struct, frozen=True, gc=False):
    """An event to publish. ``offset`` and ``number`` are its position; ``timestamp_ms`` is when its cause was sent,
    ``time_ms`` its event time."""

    offset: int
    number: int
    id: str
    source: str
    key: bytes | None
    time_ms: int
    timestamp_ms: int
    event: Output

    @property
    def position(self) -> OutputPosition:
        """Where it comes from."""
        return OutputPosition(self.offset, self.number)

    def record(self, topics: Topics, partition: int, generation: bytes) -> OutRecord:
        """The record for the output topic; the same emission always gives the same bytes, but for the generation."""
        headers = cloud_event_headers(self.id, self.source, TYPES[type(self.event)], self.time_ms)
        headers.append((POSITION, _HEADER % (self.offset, self.number)))
        headers.append((GENERATION, generation))
        topic = topic_of(self.event, topics)
        return OutRecord(topic, partition, self.timestamp_ms, self.key, _encode(self.event), headers)


_TOPICS: Mapping[type[Output], Callable[[Topics], str]] = {
    Recourse: attrgetter("recourse"),
    NoRecourse: attrgetter("recourse"),
    Reward: attrgetter("rewards"),
    DeadLetter: attrgetter("dead_letters"),
}


def topic_of(event: Output, topics: Topics) -> str:
    """The output topic of an event."""
    return _TOPICS[type(event)](topics)
