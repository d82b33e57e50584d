"""The sender: writes applicants' records at a steady rate, independently of brokers and workers."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np

from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.options import KafkaOptions
from onward.tests.faults.suite.load.applicants import InputRecord, PlannedEvent

_DELIVERY_MS = 600_000
_BEAT_SECONDS = 0.1
_EXTENDED_RATE = 6.0
"""Turns a second after ``seconds``, whatever the rate was: waiting for a slow machine must not pile up work for it."""
_SHUFFLED_SECONDS = 0.4
"""Limit of disorder in event time within a partition: below every program's ``lateness``."""


class Sender:
    """Sends in a thread of its own for ``seconds``. Entering the context starts it.

    ``rate`` is in turns a second. While ``extended`` is set, sending goes on after ``seconds`` at a lower rate. With
    ``shuffled`` the records are not sent in the order of their event times. Sent records are in ``sent``.
    """

    def __init__(
        self,
        options: KafkaOptions,
        turns: Iterator[list[PlannedEvent]],
        rate: float,
        seconds: float,
        *,
        shuffled: np.random.Generator | None = None,
    ) -> None:
        # A broker that is down for minutes delays records; it must not lose them.
        self._options = replace(options, delivery_timeout_ms=_DELIVERY_MS)
        self._turns = turns
        self._rate = rate
        self._seconds = seconds
        self._shuffled = shuffled
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="sender", daemon=True)
        self._closing = threading.Event()
        self._writer = EventWriter(self._options)
        self.sent: list[InputRecord] = []
        self.extended = False

    def send(self, records: Sequence[InputRecord]) -> None:
        """Send these records between the others."""
        with self._lock:
            for record in records:
                self._writer.send(
                    record.topic,
                    # The writer is typed for events; tombstones are sent by other systems.
                    cast(Any, record.value),
                    key=record.key,
                    headers=record.headers,
                    partition=record.partition,
                )
            self.sent.extend(records)

    def send_again(self, random: np.random.Generator) -> None:
        """Send all records a second time, in another order."""
        self.send([self.sent[index] for index in random.permutation(len(self.sent))])

    @property
    def is_done(self) -> bool:
        """Whether all records were handed to the Kafka client."""
        return not self._thread.is_alive()

    def finish(self) -> None:
        """Return when all records are acknowledged; raise the error that ended the thread, if any."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        with self._lock:
            self._writer.flush()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.set()
        self._thread.join()
        self._writer.close()

    def _run(self) -> None:
        try:
            self._send_all()
        except BaseException as error:
            self._error = error

    def _send_all(self) -> None:
        started, started_ms = time.monotonic(), time.time_ns() // 1_000_000
        count, order = 0, itertools.count()
        pending: list[tuple[float, int, PlannedEvent]] = []
        while not self._closing.is_set():
            now = time.monotonic() - started
            while (turn := self._turn_seconds(count)) < now and (self.extended or turn < self._seconds):
                for planned in next(self._turns):
                    heapq.heappush(pending, (turn + planned.seconds, next(order), planned))
                count += 1
            due = []
            while pending and pending[0][0] <= now:
                seconds, _, planned = heapq.heappop(pending)
                due.append(planned.record(started_ms + round(seconds * 1000)))
            self.send(due if self._shuffled is None else [due[at] for at in self._shuffled.permutation(len(due))])
            if now >= self._seconds and not pending and not self.extended:
                return
            self._closing.wait(_BEAT_SECONDS if self._shuffled is None else _SHUFFLED_SECONDS)

    def _turn_seconds(self, number: int) -> float:
        """Return when a turn is due, in seconds after the start."""
        over = number - self._rate * self._seconds
        return number / self._rate if over < 0 else self._seconds + over / _EXTENDED_RATE
