"""Searches records and files for the names of people, and says until when each trace may stay."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...schemas.kinds import kinds
from ..errors import one_line
from ..records import Record
from ..topics import DAY_MS, Topics
from .ledger_rows import Row, rows_of
from .names import Names
from .raw_bytes import LongerWords, names_in_bytes

LONGEST_MS = 30 * DAY_MS
"""How long a trace may stay in a topic or a snapshot."""
SEGMENT_MS = DAY_MS
"""How long Kafka writes a segment, which it deletes as a whole."""
_SQLITE = b"SQLite format 3\0"
_COMPANIONS = ("-wal", "-shm")
_CLOCKS_MS = DAY_MS
"""How far the clocks of senders may be ahead."""


class Trace(NamedTuple):
    """A place that holds names: the numbers of these, from 1.

    The number 0 stands for content that was not searched: it unpacks to too much, is damaged, or sealed. ``until_ms``
    is when it ends at the latest; None where nothing ends it. ``note`` says what it is.
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
        """Whether it should be gone, or stays longer than anything may, as a record that is dated in the future."""
        return self.until_ms is None or not now_ms <= self.until_ms <= now_ms + LONGEST_MS + _CLOCKS_MS


@dataclass(frozen=True)
class TopicRetention:
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

    def __init__(self, names: Names, retention: TopicRetention) -> None:
        self._names, self._retention = names, retention

    def in_record(self, record: Record) -> Trace | None:
        """The trace that a record is, in its key, value or headers; or that it could not be read."""
        if record.unread is not None:
            place, detail = f"{record.topic}/{record.partition}/{record.first_offset}", record.unread.detail
            return Trace(place, f"not read: {detail}", (0,), self._retention.end_ms(record))
        parts = {"key": [record.key], "value": [record.value]}
        for name, content in record.headers:
            parts.setdefault(f"header {name}", []).extend([name.encode(), content])
        found = {part: names for part, contents in parts.items() if (names := self._found(contents))}
        if not found:
            return None
        place = f"{record.topic}/{record.partition}/{record.offset}"
        return Trace(place, _kind_of(record, found), _numbers(found.values()), self._retention.end_ms(record))

    def in_file(self, path: Path, until_ms: int | None = None, shown: str = "") -> Iterator[Trace]:
        """The traces in a file: in a ledger or a copy of one table by table, then in its bytes; in any other anywhere.

        A ledger's companions are searched with it: their rows are its. ``shown`` is what it is called, if not by its
        path. What is deleted meanwhile is gone.
        """
        place = shown or str(path)
        try:
            with path.open("rb") as file:
                is_ledger = file.read(len(_SQLITE)) == _SQLITE
            if is_ledger:
                yield from self._in_ledger(path, place, until_ms)
            elif path.name.endswith(_COMPANIONS):
                yield from self._in_bytes(path, place, until_ms, LongerWords(self._names), set())
            elif names := self._names.found_in(path.read_bytes(), is_file=True):
                yield Trace(place, "file", _numbers([names]), until_ms)
        except FileNotFoundError:
            return
        except OSError as error:
            yield Trace(place, f"not read: {one_line(error)}", (0,), until_ms)

    def in_folder(self, folder: Path, until_ms: int | None = None, without: Collection[Path] = ()) -> Iterator[Trace]:
        """The traces in all files below a folder, or in the one file that it is, but for what is below others."""
        if not folder.is_dir():
            yield from self.in_file(folder, until_ms)
            return
        for path in sorted(folder.rglob("*")):
            is_elsewhere = _is_companion(path) or any(path.resolve().is_relative_to(other) for other in without)
            if path.is_file() and not is_elsewhere:
                yield from self.in_file(path, until_ms)

    def _found(self, contents: Iterable[bytes | None]) -> set[int]:
        return set[int]().union(*(self._names.found_in(content) for content in contents if content))

    def _in_ledger(self, path: Path, place: str, until_ms: int | None) -> Iterator[Trace]:
        longer, in_rows = LongerWords(self._names), set[int]()
        try:
            for table, rows in rows_of(path):
                names = set[int]()
                for row in rows:
                    names |= self._in_row(row, longer)
                if names:
                    yield Trace(place, f"table {table}", _numbers([names]), until_ms)
                in_rows |= names
        except sqlite3.Error as error:
            yield Trace(place, f"rows not read: {one_line(error)}", (0,), until_ms)
        yield from self._in_bytes(path, place, until_ms, longer, in_rows)
        for end in _COMPANIONS:
            companion = path.with_name(path.name + end)
            if companion.exists():
                yield from self._in_bytes(companion, place + end, until_ms, longer, in_rows)

    def _in_row(self, row: Row, longer: LongerWords) -> set[int]:
        for content in (row.text, *row.others):
            longer.learn(content)
        names = self._found([row.text, *row.others])
        return names.union(*(self._names.found_in(array, is_guess=True) for array in row.arrays))

    def _in_bytes(
        self, path: Path, place: str, until_ms: int | None, longer: LongerWords, known: Set[int]
    ) -> Iterator[Trace]:
        if left := names_in_bytes(path, self._names, longer) - known:
            yield Trace(place, "bytes of no row", _numbers([left]), until_ms)


def _is_companion(path: Path) -> bool:
    """Whether a file belongs to a ledger beside it."""
    ledgers = (path.with_name(path.name.removesuffix(end)) for end in _COMPANIONS if path.name.endswith(end))
    return any(ledger.exists() for ledger in ledgers)


def _kind_of(record: Record, found: Mapping[str, object]) -> str:
    given = dict(record.headers).get("ce_type") or b""
    kind = kinds.by_type.get(given.decode("utf-8", "replace"))
    return f"{', '.join(found)}{f' of a {kind.name}' if kind else ''}"


def _numbers(found: Iterable[set[int]]) -> tuple[int, ...]:
    return tuple(sorted(place + 1 for place in set().union(*found)))
