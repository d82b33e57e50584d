"""What the topics say of each case, in one SQLite file: the console's memory.

    store = CaseStore(folder, topics, keys_of(folder))
    store.fold(records)                    # records of the journal and the outputs, in any order of topics

Rows, offsets and high-water marks are written in one transaction, so that a crash loses nothing and counts nothing
twice. ``cases.py`` looks them up.

A case is found by its handle, a keyed hash of its name. Of an erased person nothing else stays, and by it records of
what was before the erasure are known that come later.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from ...schemas.events import DeadLetter, Erasure, Model, PromiseChange
from ..errors import LedgerError
from ..ledger.file import ledger_errors, tidy
from ..outputs.deduplicator import Deduplicator, HighWaterMark
from ..outputs.emission import OutputPosition
from ..private_folder import make_private, make_private_file
from ..records import Record, TopicPartition
from ..replay.dead_letters import fields_of
from ..replay.happenings import FoundHappening, Happening, HappeningReader, refused_offsets
from ..replay.history import reason_of
from ..topics import Topics
from .handles import Keys
from .standing import Standing

FILE = "console.sqlite"
VERSION = 1
PAGE_BYTES = 16_384
"""Rows of a kilobyte and more lie in the tree of their key only where a page holds several."""
CACHE_KIB = 96 * 1024
CHECKPOINT_PAGES = 8192
"""Pages of the log before it is emptied: those of the index of handles, which are written again and again, once."""
BUSY_MS = 10_000
"""How long a writer waits for another: what people send is written beside."""
MOST_CASES_KEPT = 10_000
NEWER_MODEL = """
INSERT INTO models VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version,
manifest = excluded.manifest, time_ms = excluded.time_ms WHERE excluded.time_ms >= models.time_ms
"""
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE partitions (topic TEXT, partition INTEGER, next INTEGER NOT NULL, record INTEGER NOT NULL,
    number INTEGER NOT NULL, generation INTEGER NOT NULL, PRIMARY KEY (topic, partition)) WITHOUT ROWID;
CREATE TABLE cases (id INTEGER PRIMARY KEY, handle TEXT NOT NULL UNIQUE, program TEXT NOT NULL, application TEXT,
    applicant TEXT, standing BLOB NOT NULL, queue TEXT, due_ms INTEGER);
CREATE INDEX cases_applicant ON cases (program, applicant) WHERE applicant IS NOT NULL;
CREATE INDEX cases_queue ON cases (queue, program, due_ms) WHERE queue IS NOT NULL;
CREATE TABLE happenings (case_id INTEGER, topic TEXT, partition INTEGER, offset INTEGER, kind TEXT NOT NULL,
    time_ms INTEGER NOT NULL, event_id TEXT NOT NULL, journal INTEGER NOT NULL, record INTEGER, line INTEGER,
    until_ms INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (case_id, topic, partition, offset)) WITHOUT ROWID;
CREATE TABLE models (program TEXT PRIMARY KEY, version TEXT NOT NULL, manifest TEXT NOT NULL, time_ms INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE TABLE letters (topic TEXT, partition INTEGER, offset INTEGER, reason TEXT, last INTEGER, program TEXT,
    application TEXT, time_ms INTEGER NOT NULL, event_id TEXT NOT NULL, body BLOB NOT NULL, key BLOB, value BLOB,
    PRIMARY KEY (topic, partition, offset, reason)) WITHOUT ROWID;
CREATE INDEX letters_application ON letters (application);
CREATE INDEX letters_refused ON letters (topic, partition, offset, last) WHERE last IS NOT NULL;
CREATE TABLE erasures (handle TEXT, journal INTEGER, record INTEGER, line INTEGER, until_ms INTEGER NOT NULL,
    PRIMARY KEY (handle, journal, record, line)) WITHOUT ROWID;
CREATE TABLE outbox (number INTEGER PRIMARY KEY, event_id TEXT NOT NULL UNIQUE, handle TEXT NOT NULL,
    kind TEXT NOT NULL, key TEXT NOT NULL, time_ms INTEGER NOT NULL, body BLOB NOT NULL, kept_ms INTEGER NOT NULL,
    sent INTEGER NOT NULL DEFAULT 0);
CREATE INDEX outbox_handle ON outbox (handle);
CREATE INDEX outbox_waiting ON outbox (number) WHERE sent = 0;
CREATE TABLE looks (handle TEXT NOT NULL, day TEXT NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL,
    why TEXT NOT NULL, times INTEGER NOT NULL, PRIMARY KEY (handle, day, who, what, why)) WITHOUT ROWID;
CREATE TABLE revoked (handle TEXT PRIMARY KEY, before INTEGER NOT NULL) WITHOUT ROWID;
"""
WRITE_CASE = """
INSERT INTO cases VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET application = excluded.application,
applicant = excluded.applicant, standing = excluded.standing, queue = excluded.queue, due_ms = excluded.due_ms
"""
FORGET_CASE = "UPDATE cases SET application = NULL, applicant = NULL, queue = NULL, due_ms = NULL WHERE id = ?"
OF_NO_CASE = """
WHERE time_ms < ? AND coalesce(application, CAST(key AS TEXT), '') NOT IN
(SELECT application FROM cases WHERE application IS NOT NULL)
"""
EMPTY_LETTERS = f"""
UPDATE letters SET application = NULL, body = '', key = NULL, value = NULL {OF_NO_CASE} AND last >= 0 AND body <> ''
"""
"""Other cases may have records among those that such a letter refuses, so these stay refused."""
DELETE_LETTERS = f"DELETE FROM letters {OF_NO_CASE} AND last IS NULL"


@dataclass(slots=True)
class _KnownCase:
    """A case while its events are read."""

    id: int
    handle: str
    program: str
    application: str | None = None
    applicant: str | None = None
    standing: Standing = field(default_factory=Standing)


_encode = msgspec.json.Encoder().encode
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Standing).decode


class CaseStore:
    """The file of a console's folder; one process at a time writes it.

    Parameters
    ----------
    folder
        ``--state-dir``; the file is made where there is none.
    topics
        The installation's topics.
    keys
        Name the cases.

    Raises
    ------
    LedgerError
        Where the file cannot be used, is damaged, or was written by a newer version.
    """

    def __init__(self, folder: Path, topics: Topics, keys: Keys) -> None:
        self.path, self._topics, self._keys, self._lock = folder / FILE, topics, keys, Lock()
        with ledger_errors(self.path):
            make_private(folder)
            tidy(self.path)
            make_private_file(self.path)
            self._db = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
            try:
                self._prepare()
                self._go_on_from_last_commit()
                self._erased = {handle for (handle,) in self._db.execute("SELECT DISTINCT handle FROM erasures")}
            except BaseException:
                self._db.close()
                raise

    def _prepare(self) -> None:
        db = self._db
        db.execute(f"PRAGMA page_size={PAGE_BYTES}")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA secure_delete=ON")
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        db.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        db.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            db.executescript(f"BEGIN; {SCHEMA} COMMIT;")
        # Two files that were begun apart differ in ``began``, whatever they have read.
        began = secrets.token_hex(8)
        db.execute(
            "INSERT OR IGNORE INTO meta VALUES ('version', ?), ('topics', ?), ('began', ?)",
            (VERSION, self._topics.prefix, began),
        )
        meta = dict(db.execute("SELECT name, value FROM meta"))
        if meta.get("version") != VERSION:
            raise LedgerError(f"{self.path} is of version {meta.get('version')}, and this Onward reads {VERSION}")
        if meta.get("topics") != self._topics.prefix:
            raise LedgerError(
                f"{self.path} belongs to the topics of {meta.get('topics')!r}: give --topic-prefix, or another "
                "--state-dir"
            )

    def _go_on_from_last_commit(self) -> None:
        self._deduplicator, self._next = Deduplicator(), dict[TopicPartition, int]()
        for topic, number, following, *position, generation in self._db.execute("SELECT * FROM partitions"):
            partition = TopicPartition(topic, number)
            self._next[partition] = following
            self._deduplicator.go_on(partition, HighWaterMark(OutputPosition(*position), generation))
        self._reader = HappeningReader(self._topics, self._deduplicator)
        self._cases: dict[tuple[str, str], _KnownCase] = {}
        self._changed: dict[int, _KnownCase] = {}
        self._has_erased = False
        [(self._last_id,)] = self._db.execute("SELECT coalesce(max(id), 0) FROM cases").fetchall()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def next_offset(self, partition: TopicPartition) -> int | None:
        """The offset of the next record of a partition; None of one that was never read."""
        return self._next.get(partition)

    def fold(self, records: Iterable[Record]) -> int:
        """Take records of the journal and the outputs in, in one transaction; return how many happenings they hold.

        Records that were read before change nothing.
        """
        with self._transaction():
            count = self._fold(records)
        if self._has_erased:  # until nobody reads what the log still holds
            with self._lock, ledger_errors(self.path):
                [(is_busy, *_)] = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._has_erased = bool(is_busy)
        return count

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, ledger_errors(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                try:
                    if self._db.in_transaction:  # a full disk has ended it
                        self._db.execute("ROLLBACK")
                finally:
                    self._go_on_from_last_commit()
                raise

    def _fold(self, records: Iterable[Record]) -> int:
        rows: list[tuple[Any, ...]] = []
        letters: list[tuple[Any, ...]] = []
        read: dict[TopicPartition, int] = {}
        count = 0
        for record in records:
            partition = TopicPartition(record.topic, record.partition)
            if record.offset < read.get(partition, self._next.get(partition, 0)):
                continue
            read[partition] = record.offset + 1
            for found in self._reader.read(record):
                count += 1
                event = found.happening.event
                if isinstance(event, DeadLetter):
                    if not (self._erased and self._is_of_erased(found, event)):
                        letters.append(_letter_row(found.happening, event))
                elif isinstance(event, Erasure):
                    self._write(rows, letters)
                    self._erase(found, event)
                elif isinstance(event, Model):
                    self._db.execute(
                        NEWER_MODEL, (event.program, event.version, event.manifest, found.happening.time_ms)
                    )
                else:
                    rows.extend(self._rows(found))
        self._write(rows, letters)
        self._write_cases()
        for partition, following in read.items():
            mark = self._deduplicator.mark(*partition)
            self._db.execute(
                "INSERT OR REPLACE INTO partitions VALUES (?, ?, ?, ?, ?, ?)",
                (*partition, following, *mark.position, mark.generation),
            )
        self._next |= read
        return count

    def _rows(self, found: FoundHappening) -> Iterator[tuple[Any, ...]]:
        """The rows of a happening, one for each case that it is about."""
        happening, event = found.happening, found.happening.event
        program, application = happening.program, getattr(event, "application", None)
        if program is None or not isinstance(application, str):
            return
        names = [application]
        if isinstance(event, PromiseChange) and event.by not in (None, application):
            names.append(str(event.by))
        place = found.place or (None, None)
        applicant = getattr(event, "applicant", None)
        for name in names:
            case, is_own = self._case(program, name), name == application
            # What Onward says of an applicant counts; an application in somebody else's name is refused.
            is_theirs = found.is_output or case.applicant is None or applicant in (None, case.applicant)
            known = applicant if is_own and is_theirs and isinstance(applicant, str) else case.applicant
            if self._erased and self._was_erased(case.handle, program, known, found):
                continue
            is_changed = (case.application, case.applicant) != (name, known)
            case.application, case.applicant = name, known
            if is_own and is_theirs:
                is_changed |= case.standing.take(happening.time_ms, event)
            if is_changed:
                self._changed[case.id] = case
            yield (
                case.id,
                happening.topic,
                happening.partition,
                happening.offset,
                happening.kind,
                happening.time_ms,
                happening.id,
                found.journal,
                *place,
                found.until_ms,
                found.body or _encode(event),
            )

    def _case(self, program: str, name: str) -> _KnownCase:
        """The case of an application, made without a name where it is new."""
        case = self._cases.get((program, name))
        if case is None:
            if len(self._cases) >= MOST_CASES_KEPT:
                self._write_cases()
                self._cases.clear()
            handle = self._keys.handle(program, name)
            row = self._db.execute(
                "SELECT id, application, applicant, standing FROM cases WHERE handle = ?", (handle,)
            ).fetchone()
            if row is None:
                self._last_id += 1
                case = self._changed[self._last_id] = _KnownCase(self._last_id, handle, program)
            else:
                case = _KnownCase(row[0], handle, program, row[1], row[2], _unpack(row[3]))
            self._cases[program, name] = case
        return case

    def _write(self, rows: list[tuple[Any, ...]], letters: list[tuple[Any, ...]]) -> None:
        self._db.executemany(f"INSERT OR IGNORE INTO happenings VALUES ({', '.join('?' * 12)})", rows)
        self._db.executemany(f"INSERT OR IGNORE INTO letters VALUES ({', '.join('?' * 12)})", letters)
        rows.clear()
        letters.clear()

    def _write_cases(self) -> None:
        self._db.executemany(
            WRITE_CASE,
            [
                (
                    *(case.id, case.handle, case.program, case.application, case.applicant),
                    *(_pack(case.standing), case.standing.queue, case.standing.due_ms),
                )
                for case in self._changed.values()
            ],
        )
        self._changed.clear()

    def _erase(self, found: FoundHappening, erasure: Erasure) -> None:
        """Delete what was before an erasure of its person, and know it again when it comes later."""
        self._write_cases()
        if erasure.application is not None:
            handle = self._keys.handle(erasure.program, erasure.application)
            whose: tuple[str, tuple[str, ...]] = "handle = ?", (handle,)
        else:
            assert erasure.applicant is not None, "an erasure names one of the two"
            handle = self._applicant_handle(erasure.program, erasure.applicant)
            whose = "program = ? AND applicant = ?", (erasure.program, erasure.applicant)
        rows = self._db.execute(f"SELECT id, handle, application FROM cases WHERE {whose[0]}", whose[1]).fetchall()
        names = {erasure.application, *(name for _, _, name in rows)} - {None}
        # Of each case too: what comes later of it, such as a fate, names no applicant.
        self._note_erasure({handle, *(of_case for _, of_case, _ in rows)}, found)
        for name in names:
            self._db.execute(
                "DELETE FROM letters WHERE application = ? AND coalesce(program, ?) = ?",
                (name, erasure.program, erasure.program),
            )
        for case_id, _, _ in rows:
            self._forget(case_id, found)
        self._cases.clear()
        self._has_erased = True

    def _note_erasure(self, handles: Set[str], found: FoundHappening) -> None:
        place = found.place or (None, None)
        self._db.executemany(
            "INSERT OR IGNORE INTO erasures VALUES (?, ?, ?, ?, ?)",
            [(handle, found.journal, *place, found.until_ms) for handle in handles],
        )
        self._erased |= handles

    def _is_of_erased(self, found: FoundHappening, letter: DeadLetter) -> bool:
        """Whether a dead letter is of what an erased person had sent before."""
        fields, program = fields_of(letter), found.happening.program
        application, applicant = fields.get("application"), fields.get("applicant")
        if program is None or not isinstance(application, str):
            return False
        known = applicant if isinstance(applicant, str) else None
        return self._was_erased(self._keys.handle(program, application), program, known, found)

    def _forget(self, case_id: int, erasure: FoundHappening) -> None:
        """Delete the happenings of a case that were before an erasure; of one that has no other, its names too."""
        record, line = erasure.place or (-1, -1)
        self._db.execute(
            "DELETE FROM happenings WHERE case_id = ? AND "
            "(time_ms <= ? OR (journal = ? AND (record < ? OR (record = ? AND line < ?))))",
            (case_id, erasure.until_ms, erasure.journal, record, record, line),
        )
        left = self._db.execute("SELECT count(*) FROM happenings WHERE case_id = ?", (case_id,)).fetchone()
        if left == (0,):
            [(handle,)] = self._db.execute("SELECT handle FROM cases WHERE id = ?", (case_id,)).fetchall()
            for table in ("outbox", "looks"):
                self._db.execute(f"DELETE FROM {table} WHERE handle = ?", (handle,))
            # Nobody who applies under the name again is shown to who has an old link.
            self._db.execute("INSERT OR REPLACE INTO revoked VALUES (?, ?)", (handle, int(time.time())))
            self._db.execute(FORGET_CASE, (case_id,))

    def forget_ended(self, before_ms: int) -> int:
        """Delete events and names of cases that ended before then, also of those without a way; count them.

        Where they stood stays, so that figures go on counting them, and which links were taken back. Dead letters of
        cases that are kept stay; of those about several records it stays which they are.
        """
        with self._transaction():
            rows = self._db.execute(
                "SELECT id, handle, standing FROM cases WHERE application IS NOT NULL AND (queue IS NULL OR queue IN "
                "('none', 'declined'))"
            ).fetchall()
            ended = [(id, handle) for id, handle, body in rows if _unpack(body).ended_before(before_ms)]
            self._db.executemany("DELETE FROM happenings WHERE case_id = ?", [(id,) for id, _ in ended])
            for table in ("outbox", "looks"):
                self._db.executemany(f"DELETE FROM {table} WHERE handle = ?", [(handle,) for _, handle in ended])
            self._db.executemany(FORGET_CASE, [(id,) for id, _ in ended])
            for forget in (EMPTY_LETTERS, DELETE_LETTERS):
                self._db.execute(forget, (before_ms,))
            self._cases.clear()
        return len(ended)

    def _was_erased(self, handle: str, program: str, applicant: str | None, found: FoundHappening) -> bool:
        """Whether a happening was before an erasure of its person."""
        handles = [handle] if applicant is None else [handle, self._applicant_handle(program, applicant)]
        return any(one in self._erased and self._was_before(one, found) for one in handles)

    def _was_before(self, handle: str, found: FoundHappening) -> bool:
        place = found.place
        for journal, record, line, until_ms in self._db.execute(
            "SELECT journal, record, line, until_ms FROM erasures WHERE handle = ?", (handle,)
        ):
            is_there = place is not None and found.journal == journal and place < (record, line)
            if is_there or found.happening.time_ms <= until_ms:
                return True
        return False

    def _applicant_handle(self, program: str, applicant: str) -> str:
        """The handle of an applicant, which is none of a case: no program's name holds an @."""
        return self._keys.handle(f"@{program}", applicant)


def _letter_row(happening: Happening, letter: DeadLetter) -> tuple[Any, ...]:
    named, refused = fields_of(letter).get("application"), refused_offsets(letter)
    return (
        *(letter.topic, letter.partition, letter.offset, reason_of(letter), None if refused is None else refused[2]),
        *(happening.program, named if isinstance(named, str) else None),
        *(happening.time_ms, happening.id, _encode(letter)),
        *((None, None) if isinstance(named, str) else (letter.key, letter.value)),
    )
