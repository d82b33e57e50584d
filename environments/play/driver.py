"""Drives a simulation over Kafka: publishes its events and passes the pipeline's answers back to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from ...streams.cli.process.stall_timeout import StallTimeout
from ...streams.errors import OnwardError
from ...streams.kafka.client import EventReader, EventWriter
from ...streams.kafka.options import KafkaOptions
from ...streams.outputs.decoder import DecodedEvent, EventDecoder
from ...streams.records import Record
from ...streams.topics import Topics
from .simulation import OutgoingEvent, Simulation

POLL_SECONDS = 0.05
"""Longest wait of one poll; records that arrive earlier are read at once."""
IDLE_SECONDS = 0.5
READ_REST_SECONDS = 15.0

OnEvent = Callable[[Record, DecodedEvent, float], None]
"""Called with every event that was read and the time of reading, in milliseconds since the epoch."""


@dataclass(frozen=True)
class TopicClient:
    """A reader and a writer of the topics, for the side of the simulated world."""

    topics: Topics
    writer: EventWriter
    reader: EventReader
    decoder: EventDecoder

    def publish(self, events: Iterable[OutgoingEvent]) -> None:
        """Send events; raise ``BrokerError`` when one of those before was not delivered."""
        self.writer.check()
        for event in events:
            self.writer.send(event.topic(self.topics), event.value, key=event.key, headers=event.headers)

    def read(self, seconds: float) -> Iterator[tuple[Record, DecodedEvent, float]]:
        """The events of one poll, which waits at most ``seconds``."""
        records = self.reader.poll(seconds)
        now_ms = time.time() * 1000
        for record in records:
            for event in self.decoder.events(record):
                yield record, event, now_ms


@contextmanager
def connect(
    options: KafkaOptions, topics: Topics, names: Iterable[str], start: Literal["beginning", "end"]
) -> Iterator[TopicClient]:
    """A client that reads the topics of these names."""
    with EventReader(options, names, start=start) as reader, EventWriter(options) as writer:
        yield TopicClient(topics, writer, reader, EventDecoder(topics))


def drive(
    simulation: Simulation,
    client: TopicClient,
    *,
    on_event: OnEvent,
    on_poll: Callable[[], None],
    patience_seconds: float,
    advice: Callable[[], str],
    limit: Callable[[], int | None] = lambda: None,
    progress: Callable[[], Hashable] = lambda: None,
) -> None:
    """Run a simulation to its end.

    ``on_poll`` is called after every poll; it ends the run by raising. ``limit`` is the number of applications of each
    program that may be published so far. Raises ``OnwardError``, whose message ends with ``advice``, when an answer or
    a fate does not arrive within ``patience_seconds`` in which ``progress`` has stayed the same.
    """
    waits: dict[str, StallTimeout] = {}
    while not simulation.done:
        client.publish(simulation.next_events(time.time_ns() // 1_000_000, limit()))
        for record, read, now_ms in client.read(POLL_SECONDS):
            simulation.receive(read.event)
            on_event(record, read, now_ms)
        on_poll()
        made = progress()
        waits = {event_id: waits.get(event_id) or StallTimeout(patience_seconds) for event_id in simulation.awaited}
        for event_id, wait in waits.items():
            if not wait.keep_waiting(made):
                raise OnwardError(f"nothing came back for {event_id} within {patience_seconds:g} s: {advice()}")


def read_rest(client: TopicClient, on_event: OnEvent) -> None:
    """Read on until every partition is read to its end and nothing has arrived for ``IDLE_SECONDS``."""
    read, idle, silence = 0, StallTimeout(IDLE_SECONDS), StallTimeout(READ_REST_SECONDS)
    while idle.keep_waiting(read) or not client.reader.caught_up:
        if not silence.keep_waiting(read):
            raise OnwardError(f"the topics were not read to their end: nothing came for {READ_REST_SECONDS:g} s")
        for event in client.read(POLL_SECONDS):
            on_event(*event)
            read += 1
