"""Emissions: the events that the engine publishes, each with its position, and the records they become."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from ...schemas.headers import cloud_event_headers
from ...schemas.kinds import kinds
from ..records import OutRecord
from ..topics import Topics

POSITION = "onward_position"
GENERATION = "onward_generation"
ENGINE = "onward_engine"
_HEADER = b"%d.%d"
encode_event = msgspec.json.Encoder().encode
"""The JSON of an event."""


class OutputPosition(NamedTuple):
    """The position of an output: the offset of its journal record, and its number among that record's outputs."""

    offset: int
    number: int

    def header(self) -> bytes:
        """The value of the output's ``onward_position`` header."""
        return _HEADER % self

    @classmethod
    def parse(cls, header: bytes) -> OutputPosition:
        """Read the header; raise ``ValueError`` when it is malformed."""
        offset, number = header.split(b".")
        return cls(int(offset), int(number))


class Emission(Struct, frozen=True, gc=False):
    """An event to publish.

    ``offset`` and ``number`` are its position. ``timestamp_ms`` is the record time of the input that caused it,
    ``time_ms`` its event time. ``program`` is "" for a dead letter. ``value`` is the event's JSON: a portion holds
    thousands of events, whose objects would take several times the memory.
    """

    offset: int
    number: int
    id: str
    program: str
    source: str
    key: bytes | None
    time_ms: int
    timestamp_ms: int
    struct: type[Struct]
    value: bytes

    @property
    def position(self) -> OutputPosition:
        """The position."""
        return OutputPosition(self.offset, self.number)

    @property
    def event(self) -> Any:
        """The event, decoded."""
        return kinds.by_struct[self.struct].decode(self.value)


def records_of(
    emissions: Iterable[Emission], topics: Topics, partition: int, generation: bytes, engine: bytes
) -> list[OutRecord]:
    """The records for the output topics, in the order of the emissions.

    They are the same bytes for the same emissions, except for the generation and the engine.
    """
    # Topic and type are looked up once a struct: the two look-ups cost a third of what the JSON does.
    outputs = {struct: (topics.topic_of(kind), kind.ce_type) for struct, kind in kinds.by_struct.items() if kind.topic}
    written_by = (GENERATION, generation), (ENGINE, engine)
    records = []
    for emission in emissions:
        topic, ce_type = outputs[emission.struct]
        headers = cloud_event_headers(emission.id, emission.source, ce_type, emission.time_ms)
        headers += (POSITION, _HEADER % (emission.offset, emission.number)), *written_by
        records.append(OutRecord(topic, partition, emission.timestamp_ms, emission.key, emission.value, headers))
    return records


def topic_of(emission: Emission, topics: Topics) -> str:
    """The output topic of an event."""
    return topics.topic_of(kinds.by_struct[emission.struct])
