"""Events of the topics, decoded for readers outside the worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from ...schemas.headers import CloudEvent, read_headers
from ...schemas.kinds import kinds
from ...schemas.problems import JSON_ERRORS
from ..journal.lines import read_lines
from ..records import Record
from ..topics import Topics


class DecodedEvent(NamedTuple):
    """An event and its ``ce_id``."""

    id: str
    event: Struct


class EventDecoder:
    """Decodes the records of every input and output topic, and the lines of the journal."""

    def __init__(self, topics: Topics) -> None:
        self._journal = topics.journal
        self._decoders: dict[str, dict[str, Callable[[bytes], Any]]] = {}
        for kind in kinds:
            if kind.topic is not None:
                self._decoders.setdefault(topics.topic_of(kind), {})[kind.ce_type] = kind.decode

    @property
    def topics(self) -> tuple[str, ...]:
        """The input and output topics."""
        return tuple(self._decoders)

    def events(self, record: Record) -> Iterator[DecodedEvent]:
        """The event of a record; of a record of the journal its lines, as ``Journaled``."""
        if record.topic == self._journal:
            for line in read_lines(record):
                yield DecodedEvent(line.id, line)
        elif (event := self.read(record)) is not None:
            yield event

    def read(self, record: Record) -> DecodedEvent | None:
        """The event; None for a record that is no event, for which the pipeline publishes a dead letter."""
        found = self.read_with_attributes(record)
        return None if found is None else DecodedEvent(found[0].id, found[1])

    def read_with_attributes(self, record: Record) -> tuple[CloudEvent, Struct] | None:
        """The same with the attributes of its headers."""
        attributes = read_headers(record.headers)
        if not isinstance(attributes, CloudEvent):
            return None
        try:
            of_topic = self._decoders[record.topic]
            decode = of_topic.get(attributes.type or "") or next(iter(of_topic.values()))
            return attributes, decode(record.value or b"")
        except JSON_ERRORS:
            return None
