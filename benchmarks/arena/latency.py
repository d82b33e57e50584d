"""End-to-end latency at a steady rate: from the due time of an application until an outside reader has its answer.

The sender keeps its schedule however slow the contender is, and a delay of the sender counts: there is no coordinated
omission.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from onward.benchmarks.arena.contender import RunTopics
from onward.benchmarks.arena.load import InputRecord
from onward.streams.errors import OnwardError
from onward.streams.kafka.client import EventReader, EventWriter

_LEAD_SECONDS = 0.2
_STALL_SECONDS = 30.0


class _Named(msgspec.Struct):
    application: str


_decode = msgspec.json.Decoder(_Named).decode


@dataclass
class _Arrivals:
    """The times (``time.monotonic``) at which the answers to the expected applications were first read."""

    expected: frozenset[bytes]
    at: dict[bytes, float] = field(default_factory=dict)

    def read(self, reader: EventReader, stop: threading.Event) -> None:
        """Read until all answers have arrived, or ``stop`` is set."""
        while len(self.at) < len(self.expected) and not stop.is_set():
            records = reader.poll(0.1)
            now = time.monotonic()
            for record in records:
                key = _decode(record.value or b"").application.encode()
                if key in self.expected:
                    self.at.setdefault(key, now)


def latencies(run_topics: RunTopics, records: Sequence[InputRecord], rate: float) -> NDArray[np.float64]:
    """Send the records at ``rate`` a second; return the seconds from due to answered of each.

    Raise ``OnwardError`` when answers are missing at the end.
    """
    arrivals, stop = _Arrivals(frozenset(record.key for record in records)), threading.Event()
    with EventReader(run_topics.broker.options(), [run_topics.topics.recourse], start="end") as reader:
        reader.poll(0.5)
        thread = threading.Thread(target=arrivals.read, args=(reader, stop))
        thread.start()
        try:
            first = time.monotonic() + _LEAD_SECONDS
            due = first + np.arange(len(records)) / rate
            _send(run_topics, records, due.tolist())
            thread.join(_STALL_SECONDS)
        finally:
            stop.set()
            thread.join()
    if len(arrivals.at) < len(records):
        raise OnwardError(f"{len(records) - len(arrivals.at)} of {len(records)} applications had no answer in time")
    return np.array([arrivals.at[record.key] for record in records]) - due


def _send(run_topics: RunTopics, records: Sequence[InputRecord], due: Sequence[float]) -> None:
    with EventWriter(run_topics.broker.options()) as writer:
        for (key, value, headers), moment in zip(records, due, strict=True):
            time.sleep(max(0.0, moment - time.monotonic()))
            writer.send(run_topics.topics.applications, value, key=key, headers=headers)
