"""Searches records and files for the names of people, and says until when each trace may stay."""

from __future__ import annotations

import mmap
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...schemas.kinds import kinds
from ..ledger.file import connected
from ..records import Record
from ..topics import DAY_MS, Topics
from .names import Names, UnsearchedError

LONGEST_MS = 30 * DAY_MS
"""How long a trace may stay in a topic or a snapshot."""
SEGMENT_MS = DAY_MS
"""How long Kafka writes a segment, which it deletes as a whole."""
Content = bytes | mmap.mmap
_SQLITE = b"SQLite format 3\0"
_PARTS = ("-wal", "-shm")
_UNSEARCHED = -1
"""In the place of a name: what nobody has searched is not known to be without one."""


class Trace(NamedTuple):
    """A place that holds names: the numbers of these, from 1.

    The number 0 stands for content that was not searched: it unpacks to too much, or is sealed. ``until_ms`` is when it
    ends at the latest; None where nothing ends it. ``note`` says what it is.
    """

    place: str
    note: str
    names: tuple[int, ...]
    until_ms: int | None

    @property
    def is_unsearched(self) -> bool:
        """Whether something in it was not searched."""
        return 0 in self.names

    def is_left(self, now_ms: int) -> bool:
        """Whether it should be gone."""
        return self.until_ms is None or self.until_ms < now_ms


@dataclass(frozen=True)
class Retention:
    """How long topics keep records, in milliseconds: as planned, and the journal as its owner cuts it (None: never)."""

    topics: Topics
    journal_ms: int | None

    def end_ms(self, record: Record) -> int | None:
        """When a record is gone at the latest."""
        days = self.topics.kept_days(record.topic)
        kept_ms = self.journal_ms if days is None else days * DAY_MS
        return None if kept_ms is None else record.timestamp_ms + min(kept_ms + SEGMENT_MS, LONGEST_MS)


class TraceSearch:
    """Searches for the names of people.

    Parameters
    ----------
    names
        The names.
    retention
        How long topics keep records.
    """

    def __init__(self, names: Names, retention: Retention) -> None:
        self._names, self._retention = names, retention

    def in_record(self, record: Record) -> Trace | None:
        """The trace that a record is, in its key, value or headers; or that it could not be read."""
        if record.unread is not None:
            place, detail = f"{record.topic}/{record.partition}/{record.first_offset}", record.unread.detail
            return Trace(place, f"not read: {detail}", (0,), self._retention.end_ms(record))
        parts = {"key": record.key, "value": record.value}
        parts |= {f"header {name}": name.encode() + b"\0" + (content or b"") for name, content in record.headers}
        found = {part: names for part, content in parts.items() if content and (names := self._found(content))}
        if not found:
            return None
        place = f"{record.topic}/{record.partition}/{record.offset}"
        return Trace(place, _kind_of(record, found), _numbers(found.values()), self._retention.end_ms(record))

    def in_file(self, path: Path, until_ms: int | None = None, shown: str = "") -> Iterator[Trace]:
        """The traces in a file: in a ledger or a copy of one table by table, then in its bytes; in any other anywhere.

        ``shown`` is what it is called, if not by its path.
        """
        place, is_part = shown or str(path), path.name.endswith(_PARTS)
        if not path.stat().st_size:
            return
        with path.open("rb") as file, closing(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) as content:
            if content[: len(_SQLITE)] == _SQLITE:
                yield from self._in_ledger(path, content, place, until_ms)
            elif is_part and (names := {number for number, _ in self._names.raw_in(content)}):
                yield Trace(place, "bytes", _numbers([names]), until_ms)
            elif not is_part and (names := self._found(content[:])):
                yield Trace(place, "file", _numbers([names]), until_ms)

    def in_folder(self, folder: Path, until_ms: int | None = None) -> Iterator[Trace]:
        """The traces in all files below a folder, or in the one file that it is."""
        for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            if path.is_file():
                yield from self.in_file(path, until_ms)

    def _found(self, content: bytes) -> set[int]:
        try:
            return self._names.found_in(content)
        except UnsearchedError:
            return {_UNSEARCHED}

    def _in_ledger(self, path: Path, content: Content, place: str, until_ms: int | None) -> Iterator[Trace]:
        longer, in_rows = set[bytes](), set[int]()
        for table, values in _tables(path):
            names = set[int]()
            for value in values:
                names |= self._found(value)
                longer |= self._names.longer_words(value)
            if names:
                yield Trace(place, f"table {table}", _numbers([names]), until_ms)
            in_rows |= names
        other = [word for word in longer if not self._names.found_in(word)]
        raw = self._names.raw_in(content)
        in_bytes = {number for number, at in raw if not any(_is_part(content, at, word) for word in other)}
        if left := in_bytes - in_rows:
            yield Trace(place, "bytes of no row", _numbers([left]), until_ms)


def _is_part(content: Content, at: int, word: bytes) -> bool:
    """Whether what stands at a place is a part of this word."""
    around = content[max(0, at - len(word)) : at + len(word)]
    start, before = around.find(word), at - max(0, at - len(word))
    return start >= 0 and start <= before < start + len(word)


def _tables(path: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    """All values of texts and bytes of a database, table by table; nothing of one that cannot be read."""
    try:
        with closing(connected(path, "mode=ro")) as db:
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                yield name, _values(db, name)
    except sqlite3.Error:
        return


def _values(db: sqlite3.Connection, table: str) -> Iterator[bytes]:
    for row in db.execute(f'SELECT * FROM "{table}"'):
        for value in row:
            if isinstance(value, str | bytes):
                yield value.encode() if isinstance(value, str) else value


def _kind_of(record: Record, found: Mapping[str, object]) -> str:
    given = dict(record.headers).get("ce_type") or b""
    kind = kinds.by_type.get(given.decode("utf-8", "replace"))
    return f"{', '.join(found)}{f' of a {kind.name}' if kind else ''}"


def _numbers(found: Iterable[set[int]]) -> tuple[int, ...]:
    return tuple(sorted(place + 1 for place in set().union(*found)))
