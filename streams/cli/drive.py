"""Plays a simulation over Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from ...schemas.events import Application, Outcome
from ..errors import OnwardError
from ..kafka.client import EventReader, EventWriter
from ..kafka.options import KafkaOptions
from ..outputs.decoder import DecodedEvent, EventDecoder
from ..records import Record
from ..simulation.lockstep import Outgoing, Simulation
from ..topics import Topics

TURN_SECONDS = 0.05
"""How long one reading may wait; what arrives earlier is read at once."""
QUIET_SECONDS = 0.5
DRAIN_SECONDS = 15.0

Seen = Callable[[Record, DecodedEvent, float], None]
"""Told of every event that was read, with the time of reading in milliseconds since the epoch."""


@dataclass(frozen=True)
class Link:
    """A world's side of the topics."""

    topics: Topics
    writer: EventWriter
    reader: EventReader
    decoder: EventDecoder

    def publish(self, events: Iterable[Outgoing]) -> None:
        """Send events."""
        for event in events:
            self.writer.send(event.topic(self.topics), event.value, key=event.key, headers=event.headers)

    def read(self, seconds: float) -> Iterator[tuple[Record, DecodedEvent, float]]:
        """What arrives first within some seconds."""
        records = self.reader.poll(seconds)
        now_ms = time.time() * 1000
        for record in records:
            event = self.decoder.read(record)
            if event is not None:
                yield record, event, now_ms


@contextmanager
def connect(
    options: KafkaOptions, topics: Topics, names: Iterable[str], start: Literal["beginning", "end"]
) -> Iterator[Link]:
    """A link that reads the topics of these names."""
    with EventReader(options, names, start=start) as reader, EventWriter(options) as writer:
        yield Link(topics, writer, reader, EventDecoder(topics))


def play(
    simulation: Simulation,
    link: Link,
    *,
    seen: Seen,
    turn: Callable[[], None],
    patience_seconds: float,
    hint: Callable[[], str],
    until: Callable[[], int | None] = lambda: None,
) -> None:
    """Play to the end.

    ``turn`` is called after every reading and ends the play by raising; ``until`` bounds the applications published so
    far. Raises ``OnwardError``, which ends with the ``hint``, when an answer or a fate does not come for
    ``patience_seconds``.
    """
    since: dict[str, float] = {}
    while not simulation.done:
        link.publish(simulation.outgoing(time.time_ns() // 1_000_000, until()))
        for record, read, now_ms in link.read(TURN_SECONDS):
            if not isinstance(read.event, Application | Outcome):
                simulation.receive(read.event)
            seen(record, read, now_ms)
        turn()
        now = time.monotonic()
        since = {name: since.get(name, now) for name in simulation.awaited}
        for name, then in since.items():
            if now - then > patience_seconds:
                raise OnwardError(f"nothing came back for {name} within {patience_seconds:g} s: {hint()}")


def drain(link: Link, seen: Seen) -> None:
    """Read on until nothing has come for a while and every partition was read to its end."""
    started = heard = time.monotonic()
    while time.monotonic() - heard < QUIET_SECONDS or not link.reader.caught_up:
        if time.monotonic() - started > DRAIN_SECONDS:
            raise OnwardError(f"the topics were not read to their end within {DRAIN_SECONDS:g} s")
        for event in link.read(TURN_SECONDS):
            seen(*event)
            heard = time.monotonic()
