"""Looks up what the console knows of cases, beside the thread that reads the topics.

    cases = Cases(folder, keys)
    case = cases.find(program, application)
    case.happenings

The order of a case's happenings, what is repeated and its state come from ``replay/history.py``, so that it tells what
``onward show`` tells, but for inputs that no worker has read or that were refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...schemas.events import DeadLetter
from ...schemas.kinds import kinds
from ..journal.entries import JournalPosition
from ..ledger.file import connected, ledger_errors
from ..records import TopicPartition
from ..replay.happenings import FoundHappening, Happening
from ..replay.history import CaseHistory, since_latest, state_of
from .case_store import FILE
from .handles import Keys
from .standing import Standing

REFUSED_TOGETHER = """
SELECT letters.topic, letters.partition, letters.offset, letters.last FROM happenings JOIN letters
ON letters.topic = happenings.topic AND letters.partition = happenings.partition
AND happenings.offset BETWEEN letters.offset AND letters.last WHERE case_id = ? AND letters.last IS NOT NULL
"""
"""The dead letters of several records, or without what theirs said, that are about inputs of a case."""
_unpack = msgspec.msgpack.Decoder(Standing).decode


class AnnouncedModel(NamedTuple):
    """The newest model that was announced to a program: its version, its address, and when, in event time."""

    version: str
    manifest: str
    time_ms: int


class ConsoleCase(NamedTuple):
    """A case as it is looked up: its happenings by event time, its program's newest model, and its state in words."""

    handle: str
    program: str
    application: str
    happenings: Sequence[Happening]
    model: AnnouncedModel | None = None

    @property
    def latest(self) -> Sequence[Happening]:
        """The happenings from the latest application of the name on."""
        return since_latest(self.happenings)

    @property
    def state(self) -> str:
        """Where it stands, as ``onward show`` says it."""
        return state_of(list(self.happenings))


class QueuedCase(NamedTuple):
    """A case that waits for something, until ``due_ms`` in event time where that has an end."""

    handle: str
    program: str
    application: str
    standing: Standing
    due_ms: int | None


class Cases:
    """The cases of a console's folder, whose file a ``CaseStore`` has made. Raises ``LedgerError``."""

    def __init__(self, folder: Path, keys: Keys) -> None:
        self._path, self._keys = folder / FILE, keys
        with ledger_errors(self._path):
            self._db = connected(self._path, "mode=ro")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def find(self, program: str, application: str) -> ConsoleCase | None:
        """The case of a name; None where nothing is known of it."""
        return self.case(self._keys.handle(program, application))

    def case(self, handle: str) -> ConsoleCase | None:
        """The case of a handle; None where nothing is known of it, or its person was erased."""
        with ledger_errors(self._path):
            row = self._db.execute("SELECT id, program, application FROM cases WHERE handle = ?", (handle,)).fetchone()
            if row is None or row[2] is None:
                return None
            case_id, program, application = row
            history = CaseHistory(application, program)
            for found in self._found(case_id, program):
                history.add(found)
            for found in self._letters(application):
                history.add(found)
            for topic, partition, first, last in self._db.execute(REFUSED_TOGETHER, (case_id,)):
                history.refuse(TopicPartition(topic, partition), first, last)
            happenings, model = history.happenings, self.model(program)
        return ConsoleCase(handle, program, application, happenings, model) if happenings else None

    def _found(self, case_id: int, program: str) -> Iterator[FoundHappening]:
        rows = self._db.execute("SELECT * FROM happenings WHERE case_id = ?", (case_id,))
        for _, topic, partition, offset, kind, time_ms, event_id, journal, record, line, until_ms, body in rows:
            event = kinds[kind].decode(body)
            happening = Happening(time_ms, kind, topic, partition, offset, event_id, program, event)
            place = None if record is None else JournalPosition(record, line)
            yield FoundHappening(happening, journal, place, until_ms)

    def _letters(self, application: str) -> Iterator[FoundHappening]:
        """The dead letters that may be about an application."""
        # Those that do not say what their record holds are looked through: a key, or a text in it, may be the name.
        rows = self._db.execute(
            "SELECT program, time_ms, event_id, body FROM letters WHERE application = ? UNION ALL "
            "SELECT program, time_ms, event_id, body FROM letters WHERE application IS NULL "
            "AND (key = ? OR instr(value, ?) > 0)",
            (application, application.encode(), b'"%s"' % application.encode()),
        )
        decode = kinds["dead-letter"].decode
        for program, time_ms, event_id, body in rows:
            letter: DeadLetter = decode(body)
            happening = Happening(
                time_ms, "dead-letter", letter.topic, letter.partition, letter.offset, event_id, program, letter
            )
            yield FoundHappening(happening)

    def model(self, program: str) -> AnnouncedModel | None:
        """The newest model of a program; None where it has its first."""
        with ledger_errors(self._path):
            row = self._db.execute(
                "SELECT version, manifest, time_ms FROM models WHERE program = ?", (program,)
            ).fetchone()
        return row and AnnouncedModel(*row)

    def queued(self, queue: str, programs: Sequence[str], most: int = 100, after: int = 0) -> list[QueuedCase]:
        """Cases of programs that wait for something, ``after`` so many: what is due first, then the newest."""
        order = "ORDER BY due_ms IS NULL, due_ms, id DESC"
        sql = (
            # Of all that wait only the index is read.
            "SELECT handle, program, application, standing, due_ms FROM cases WHERE id IN (SELECT id FROM cases "
            f"WHERE queue = ? AND program IN ({', '.join('?' * len(programs))}) {order} LIMIT ? OFFSET ?) {order}"
        )
        with ledger_errors(self._path):
            rows = self._db.execute(sql, (queue, *programs, most, after)).fetchall()
        return [QueuedCase(handle, of, name, _unpack(body), due) for handle, of, name, body, due in rows]

    def count(self, queue: str, program: str) -> int:
        """How many cases of a program wait for something."""
        with ledger_errors(self._path):
            row = self._db.execute(
                "SELECT count(*) FROM cases WHERE queue = ? AND program = ?", (queue, program)
            ).fetchone()
        return int(row[0])
