"""Reads the journal beside a run, because workers that cut it leave nothing to fold again at the end."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Self

from onward.streams.kafka.client import EventReader
from onward.streams.kafka.options import KafkaOptions
from onward.streams.records import Record

_POLL_SECONDS = 0.2


class IncompleteJournalError(Exception):
    """Records were cut before they were read."""


class JournalRecorder:
    """Keeps all records of a journal from its beginning on. Entering the context starts it, in a thread of its own."""

    def __init__(self, options: KafkaOptions, journal: str) -> None:
        self._reader = EventReader(options, [journal])
        self._records: list[Record] = []
        self._error: BaseException | None = None
        self._finishing = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="journal recorder", daemon=True)

    @property
    def count(self) -> int:
        """Number of records read."""
        return len(self._records)

    def finish(self) -> list[Record]:
        """Read what is left, and return all; raise ``IncompleteJournalError`` where some were cut unread."""
        self._finishing.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        ends: dict[int, int] = defaultdict(int)
        for record in self._records:
            if record.offset != ends[record.partition]:
                raise IncompleteJournalError(
                    f"of journal partition {record.partition} the records from offset {ends[record.partition]} to "
                    f"{record.offset - 1} were cut before they were read"
                )
            ends[record.partition] += 1
        return self._records

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.set()
        self._thread.join()
        self._reader.close()

    def _run(self) -> None:
        try:
            while not (self._closing.is_set() or (self._finishing.is_set() and self._reader.caught_up)):
                self._records += self._reader.poll(_POLL_SECONDS)
        except BaseException as error:
            self._error = error
