"""Records of the topics, decoded for whoever looks on from outside: events by the topic they were read from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from ...schemas.events import Application, DeadLetter, NoRecourse, Outcome, Output, Recourse, Reward
from ...schemas.headers import CloudEvent, read_headers
from ...schemas.problems import JSON_ERRORS
from ..records import Record
from ..topics import Topics


class DecodedEvent(NamedTuple):
    """An event and its ``ce_id``."""

    id: str
    event: Application | Outcome | Output


class EventDecoder:
    """Decodes what is read from applications, outcomes, recourse, rewards and dead letters."""

    def __init__(self, topics: Topics) -> None:
        answers: Callable[[bytes], Recourse | NoRecourse] = msgspec.json.Decoder(Recourse | NoRecourse).decode
        self._decoders: Mapping[str, Callable[[bytes], Application | Outcome | Output]] = {
            topics.applications: msgspec.json.Decoder(Application).decode,
            topics.outcomes: msgspec.json.Decoder(Outcome).decode,
            topics.recourse: answers,
            topics.rewards: msgspec.json.Decoder(Reward).decode,
            topics.dead_letters: msgspec.json.Decoder(DeadLetter).decode,
        }

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics it can decode."""
        return tuple(self._decoders)

    def read(self, record: Record) -> DecodedEvent | None:
        """The event; None for a record that is none, which the pipeline makes a dead letter of."""
        attributes = read_headers(record.headers)
        if not isinstance(attributes, CloudEvent):
            return None
        try:
            return DecodedEvent(attributes.id, self._decoders[record.topic](record.value or b""))
        except JSON_ERRORS:
            return None
