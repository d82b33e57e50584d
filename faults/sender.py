"""The outside systems: send people's records at a steady rate, whatever becomes of brokers and workers meanwhile."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np

from onward.faults.people import Planned, Sent
from onward.streams.kafka.client import EventWriter
from onward.streams.kafka.options import KafkaOptions

_PATIENCE_MS = 600_000
_BEAT_SECONDS = 0.1
_OVERTIME_SHARE = 0.2
"""Of the rate: who waits for a slow machine must not pile up work for it."""
_SHUFFLED_SECONDS = 0.4
"""Event times of one partition are so far out of order at most: less than any program's ``lateness``."""


class Sender:
    """Sends in a thread of its own, for ``seconds``; entering the context starts it.

    ``rate`` is in turns a second, of one person a program; while it is ``open`` people go on applying after the
    ``seconds``, fewer of them. With ``shuffled`` records go in another order than that of
    their event times. What was sent is in ``sent``; ``again`` sends all of it once more.
    """

    def __init__(
        self,
        options: KafkaOptions,
        people: Iterator[list[Planned]],
        rate: float,
        seconds: float,
        *,
        shuffled: np.random.Generator | None = None,
    ) -> None:
        # A broker that is away for minutes delays what is sent, it does not lose it.
        self._options = replace(options, delivery_timeout_ms=_PATIENCE_MS)
        self._people = people
        self._rate = rate
        self._seconds = seconds
        self._shuffled = shuffled
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="sender", daemon=True)
        self._given_up = threading.Event()
        self._writer = EventWriter(self._options)
        self.sent: list[Sent] = []
        self.open = False

    def send(self, records: Sequence[Sent]) -> None:
        """Send these, between the others."""
        with self._lock:
            for record in records:
                self._writer.send(
                    record.topic,
                    # Tombstones are sent by others than our writer.
                    cast(Any, record.value),
                    key=record.key,
                    headers=record.headers,
                    partition=record.partition,
                )
            self.sent.extend(records)

    def again(self, random: np.random.Generator) -> None:
        """Send everything once more, in another order."""
        self.send([self.sent[index] for index in random.permutation(len(self.sent))])

    @property
    def done(self) -> bool:
        """Everybody's records were handed to the client."""
        return not self._thread.is_alive()

    def finish(self) -> None:
        """Return when everything is acknowledged; raise what went wrong."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        with self._lock:
            self._writer.flush()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._given_up.set()
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
        pending: list[tuple[float, int, Planned]] = []
        while not self._given_up.is_set():
            now = time.monotonic() - started
            while (turn := self._turn(count)) < now and (self.open or turn < self._seconds):
                for planned in next(self._people):
                    heapq.heappush(pending, (turn + planned.seconds, next(order), planned))
                count += 1
            due = []
            while pending and pending[0][0] <= now:
                seconds, _, planned = heapq.heappop(pending)
                due.append(planned.record(started_ms + round(seconds * 1000)))
            self.send(due if self._shuffled is None else [due[at] for at in self._shuffled.permutation(len(due))])
            if now >= self._seconds and not pending and not self.open:
                return
            self._given_up.wait(_BEAT_SECONDS if self._shuffled is None else _SHUFFLED_SECONDS)

    def _turn(self, number: int) -> float:
        """When it is, in seconds."""
        over = number - self._rate * self._seconds
        return number / self._rate if over < 0 else self._seconds + over / (_OVERTIME_SHARE * self._rate)
