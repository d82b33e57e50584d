"""What people and case workers send, kept on the disk until it stands on its topic.

A form is flushed to the disk before anybody reads thank you, and sent until Kafka has it; an outage delays it. After a
kill or a failure it is looked whether it stands on its topic already. Each time it has the same ``ce_id``, so that it
counts once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...schemas.events import Answer, Outcome
from ...schemas.headers import cloud_event_headers
from ...schemas.kinds import kinds
from ..kafka.admin.offsets import PartitionOffsets, partition_offsets
from ..kafka.client import EventWriter
from ..kafka.consume.between import records_between
from ..kafka.options import KafkaOptions
from ..ledger.file import connected, ledger_errors
from ..replay.happenings import Happening
from ..topics import Topics
from .case_store import FILE

SOURCE = "console"
SENT = ("answer", "outcome")
AT_ONCE = 500
BUSY_MS = 2000
"""How long somebody who sends a form, and all who read pages meanwhile, wait for another writer of the file."""


class Kept(NamedTuple):
    """A form that waits to be sent: its number, topic, key, and event."""

    number: int
    kind: str
    key: str
    event_id: str
    time_ms: int
    body: bytes


class Outbox:
    """The forms of a console's folder, whose file a ``CaseStore`` has made. Raises ``LedgerError``."""

    def __init__(self, folder: Path, topics: Topics) -> None:
        self._path, self._topics = folder / FILE, topics
        with ledger_errors(self._path):
            self._db = connected(self._path, "mode=rw")
            self._db.isolation_level = None
            self._db.execute(f"PRAGMA busy_timeout={BUSY_MS}")
            self._db.execute("PRAGMA synchronous=FULL")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def put(self, handle: str, event: Answer | Outcome, *, event_id: str, time_ms: int) -> bool:
        """Keep a form of a case; say whether it is new. One of the same id was sent before."""
        kind = kinds.by_struct[type(event)].name
        row = (event_id, handle, kind, event.application, time_ms, msgspec.json.encode(event), int(time.time() * 1000))
        with ledger_errors(self._path):
            cursor = self._db.execute(
                "INSERT OR IGNORE INTO outbox (event_id, handle, kind, key, time_ms, body, kept_ms) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                row,
            )
        return cursor.rowcount > 0

    def pending(self, handle: str) -> list[Happening]:
        """What a case has sent, as happenings, for as long as the journal may not show it."""
        rows = self._rows("handle = ? ORDER BY number", (handle,))
        told = []
        for row in rows:
            event = kinds[row.kind].decode(row.body)
            topic = self._topics.topic_of(kinds[row.kind])
            told.append(Happening(row.time_ms, row.kind, topic, -1, row.number, row.event_id, event.program, event))
        return told

    def count_since(self, handle: str, time_ms: int) -> int:
        """How many forms a case has sent since then."""
        with ledger_errors(self._path):
            row = self._db.execute(
                "SELECT count(*) FROM outbox WHERE handle = ? AND time_ms >= ?", (handle, time_ms)
            ).fetchone()
        return int(row[0])

    def waiting(self) -> tuple[int, int | None]:
        """How many forms wait to be sent, and since when the oldest does, in milliseconds since the epoch."""
        with ledger_errors(self._path):
            count, oldest = self._db.execute("SELECT count(*), min(kept_ms) FROM outbox WHERE sent = 0").fetchone()
        return int(count), oldest

    def look_back(self, options: KafkaOptions) -> None:
        """Note what stands on its topic though nobody could note that, and where the topics end before more is sent.

        Raises ``BrokerError``.
        """
        ends = partition_offsets(options, [self._topics.topic_of(kinds[kind]) for kind in SENT])
        waiting = {row.event_id.encode() for row in self._rows("sent = 0", ())}
        with ledger_errors(self._path):
            noted = self._db.execute("SELECT value FROM meta WHERE name = 'sent_from'").fetchone()
        if noted and waiting:
            begins: dict[str, int] = msgspec.json.decode(noted[0])
            spans = [one._replace(begin=max(one.begin, begins.get(_name(one), 0))) for one in ends]
            records = records_between(options, spans, lambda _: None)
            found = {value for record in records for name, value in record.headers if name == "ce_id"} & waiting
            self._mark([id.decode() for id in found])
        with ledger_errors(self._path):
            now = msgspec.json.encode({_name(one): one.end for one in ends})
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('sent_from', ?)", (now,))

    def send(self, writer: EventWriter) -> int:
        """Send what waits, in its order; return how many forms. Raises ``BrokerError``: they then wait on."""
        rows = self._rows(f"sent = 0 ORDER BY number LIMIT {AT_ONCE}", ())
        for row in rows:
            kind = kinds[row.kind]
            headers = cloud_event_headers(row.event_id, SOURCE, kind.ce_type, row.time_ms)
            writer.send(self._topics.topic_of(kind), row.body, key=row.key.encode(), headers=headers)
        if rows:
            writer.flush()
            self._mark([row.event_id for row in rows])
        return len(rows)

    def _mark(self, ids: Sequence[str]) -> None:
        with ledger_errors(self._path):
            update = "UPDATE outbox SET sent = 1 WHERE event_id IN (SELECT value FROM json_each(?))"
            self._db.execute(update, (msgspec.json.encode(ids).decode(),))

    def _rows(self, where: str, given: Sequence[str]) -> list[Kept]:
        with ledger_errors(self._path):
            found = self._db.execute(
                f"SELECT number, kind, key, event_id, time_ms, body FROM outbox WHERE {where}", given
            ).fetchall()
        return [Kept(*row) for row in found]


def _name(partition: PartitionOffsets) -> str:
    return f"{partition.topic}/{partition.partition}"
