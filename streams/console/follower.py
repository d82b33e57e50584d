"""Reads the journal and the outputs into the console's file, and sends what people have answered, each in a thread.

Both go on through an outage of Kafka. Neither joins a group: how far each partition was read stands in the file, and a
partition that is new is read from its beginning.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from ..errors import LedgerError, OnwardError, one_line
from ..kafka.admin.offsets import partition_offsets
from ..kafka.client import EventReader, EventWriter
from ..kafka.options import KafkaOptions
from ..records import TopicPartition
from ..topics import Topics
from .case_store import CaseStore
from .outbox import Outbox

log = logging.getLogger(__name__)

POLL_SECONDS = 0.2
RETRY_SECONDS = 2.0
CHECK_SECONDS = 60.0
"""How often it is looked whether a topic has more partitions, and whether Kafka answers: a silent one is no news."""
LOOK_BACK_SECONDS = 3600.0
"""How much of the topics is looked through, at most, for what was sent before a kill."""


class TopicFollower:
    """Reads into a store until it is told to stop. ``fault`` says why it reads nothing just now.

    ``read_up_to_ms`` is when everything had been read last, by the clock of this machine; None before that.
    """

    def __init__(self, options: KafkaOptions, topics: Topics, store: CaseStore) -> None:
        self._options, self._topics, self._store = options, topics, store
        self.fault: str | None = "it has not begun to read"
        self.read_up_to_ms: int | None = None

    def run(self, stop: threading.Event) -> None:
        """Read until ``stop``; what Kafka refuses, or the disk, is tried again."""
        while not stop.is_set():
            try:
                self._read(stop)
            except Exception as error:  # Kafka may be away, or the disk full; whatever it is, pages go on
                fault = _in_words(error)
                if self.fault != fault:
                    log.warning("the topics are not read: %s; trying again", fault)
                self.fault = fault
                stop.wait(RETRY_SECONDS)

    def _read(self, stop: threading.Event) -> None:
        names = (*self._topics.outputs, self._topics.journal)
        start = self._start(names)
        until = time.monotonic() + CHECK_SECONDS
        with EventReader(self._options, names, start=start) as reader:
            self.fault = None
            while not stop.is_set() and time.monotonic() < until:
                records = reader.poll(POLL_SECONDS)
                if records:
                    self._store.fold(records)
                if reader.caught_up:
                    self.read_up_to_ms = time.time_ns() // 1_000_000
                elif records:
                    until = time.monotonic() + CHECK_SECONDS

    def _start(self, names: tuple[str, ...]) -> Mapping[TopicPartition, int]:
        """Where each partition is read from: behind what was read, but no earlier than what it still holds."""
        start = {}
        for one in partition_offsets(self._options, names):
            partition = TopicPartition(one.topic, one.partition)
            following = self._store.next_offset(partition) or 0
            if following > one.end:
                raise LedgerError(
                    f"{one.topic} partition {one.partition} ends at {one.end}, and was read up to {following}: it was "
                    "made again, so start with another --state-dir"
                )
            if 0 < following < one.begin:
                log.warning("%s partition %d begins at %d: what came before was never read", *partition, one.begin)
            start[partition] = max(following, one.begin)
        return start


def _in_words(error: Exception) -> str:
    """What went wrong; of an error of ours its text, of another its kind alone: it may hold what people have sent."""
    return one_line(error) if isinstance(error, OnwardError) else f"unexpected {type(error).__name__}"


class OutboxSender:
    """Sends the forms of an outbox until it is told to stop; ``wake`` is set when there are new ones."""

    def __init__(self, options: KafkaOptions, topics: Topics, folder: Path) -> None:
        self._options, self._topics, self._folder = options, topics, folder
        self.wake = threading.Event()

    def run(self, stop: threading.Event) -> None:
        """Send until ``stop``; what Kafka or the disk does not take is sent again."""
        outbox = Outbox(self._folder, self._topics)
        try:
            while not stop.is_set():
                try:
                    self._send(outbox, stop)
                except Exception as error:
                    log.warning("answers wait to be sent: %s", _in_words(error))
                    stop.wait(RETRY_SECONDS)
        finally:
            outbox.close()

    def _send(self, outbox: Outbox, stop: threading.Event) -> None:
        outbox.look_back(self._options)
        until = time.monotonic() + LOOK_BACK_SECONDS
        with EventWriter(self._options) as writer:
            while not stop.is_set() and time.monotonic() < until:
                self.wake.clear()
                if not outbox.send(writer):
                    self.wake.wait(RETRY_SECONDS)
