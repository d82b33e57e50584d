"""What folding a chunk brings about: events to publish and rows of the ledger to write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

import msgspec
from msgspec import Struct

from ..schemas.events import DeadLetter, NoRecourse, Output, Recourse, Reward
from ..schemas.headers import TYPES, cloud_event_headers
from .cases import Case, Settled, Waiting
from .journal import CaseKey, Place
from .records import OutRecord
from .state import ShardKey
from .topics import Topics

POSITION = "onward_position"
GENERATION = "onward_generation"
_HEADER = b"%d.%d"
_encode = msgspec.json.Encoder().encode


class Position(NamedTuple):
    """Where an output comes from: the journal offset, and its number among that record's outputs."""

    offset: int
    number: int

    def header(self) -> bytes:
        """As it stands in the output's ``onward_position`` header."""
        return _HEADER % self

    @classmethod
    def parse(cls, header: bytes) -> Position:
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
    def position(self) -> Position:
        """Where it comes from."""
        return Position(self.offset, self.number)

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


@dataclass
class Effects:
    """Everything one chunk changed.

    ``counted`` is for the metrics: what, which program or topic, and a detail, each time it came about. ``delays``
    holds, for every outcome that counted, the program, its delay in milliseconds of event time and in steps.
    """

    emissions: list[Emission] = field(default_factory=list)
    cases: dict[CaseKey, Case] = field(default_factory=dict)
    waiting: dict[Place, Waiting] = field(default_factory=dict)
    no_longer_waiting: set[Place] = field(default_factory=set)
    settled: dict[Settled, int] = field(default_factory=dict)
    shards: set[ShardKey] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    counted: list[tuple[str, str, str]] = field(default_factory=list)
    delays: list[tuple[str, int, int]] = field(default_factory=list)

    @property
    def counts(self) -> Counter[tuple[str, str, str]]:
        """How often each of ``counted`` came about."""
        return Counter(self.counted)
