"""End-to-end latency at a steady rate: from an application's due time to its answer in the hands of an outside reader.

The sender keeps to its timetable whatever the contender does, and a late sender's delay counts: nothing is left out
because the contender was slow (no coordinated omission).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from onward.benchmarks.arena.contender import Lane
from onward.benchmarks.arena.load import Sent
from onward.streams.errors import OnwardError
from onward.streams.kafka.client import EventReader, EventWriter

_LEAD_SECONDS = 0.2
_PATIENCE_SECONDS = 30.0


class _Named(msgspec.Struct):
    application: str


_decode = msgspec.json.Decoder(_Named).decode


@dataclass
class _Arrivals:
    """When each of the expected applications' answers was first read, by the clock of ``time.monotonic``."""

    expected: frozenset[bytes]
    at: dict[bytes, float] = field(default_factory=dict)

    def read(self, reader: EventReader, stop: threading.Event) -> None:
        """Until all have come, or ``stop``."""
        while len(self.at) < len(self.expected) and not stop.is_set():
            records = reader.poll(0.1)
            now = time.monotonic()
            for record in records:
                key = _decode(record.value or b"").application.encode()
                if key in self.expected:
                    self.at.setdefault(key, now)


def latencies(lane: Lane, records: Sequence[Sent], rate: float) -> NDArray[np.float64]:
    """Seconds from due to answered, one for each record, sent ``rate`` a second. Raise ``OnwardError`` when answers
    are missing at the end."""
    arrivals, stop = _Arrivals(frozenset(record.key for record in records)), threading.Event()
    with EventReader(lane.broker.options(), [lane.topics.recourse], start="end") as reader:
        reader.poll(0.5)
        thread = threading.Thread(target=arrivals.read, args=(reader, stop))
        thread.start()
        try:
            first = time.monotonic() + _LEAD_SECONDS
            due = first + np.arange(len(records)) / rate
            _send(lane, records, due.tolist())
            thread.join(_PATIENCE_SECONDS)
        finally:
            stop.set()
            thread.join()
    if len(arrivals.at) < len(records):
        raise OnwardError(f"{len(records) - len(arrivals.at)} of {len(records)} applications had no answer in time")
    return np.array([arrivals.at[record.key] for record in records]) - due


def _send(lane: Lane, records: Sequence[Sent], due: Sequence[float]) -> None:
    with EventWriter(lane.broker.options()) as writer:
        for (key, value, headers), moment in zip(records, due, strict=True):
            time.sleep(max(0.0, moment - time.monotonic()))
            writer.send(lane.topics.applications, value, key=key, headers=headers)
