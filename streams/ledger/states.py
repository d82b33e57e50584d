"""The tables of the kinds of state that the engine keeps of its programs: read, and written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from ..engine.cases import Case
from ..engine.handlers import states
from ..engine.portion import PortionChanges
from ..engine.program_state import RowTable, StoredProgram
from ..engine.shards import ShardKey
from ..engine.state import PartitionState
from ..errors import LedgerError
from .array_codec import encode_record, record_decoder
from .file import DAMAGE_ERRORS, ledger_errors

R = TypeVar("R", bound=Struct)

decode_case = record_decoder(Case)


@dataclass(frozen=True)
class RowsAtRest:
    """The rows of an open ledger: ``engine.program_state.RowReader``."""

    db: sqlite3.Connection
    path: Path

    def equal(self, table: RowTable[R], program: str, column: str, value: object) -> list[R]:
        """The rows whose column has this value."""
        query = f"SELECT body FROM {table.name} WHERE program = ? AND {column} = ?"
        return self._read(table, query, program, value)

    def up_to(self, table: RowTable[R], program: str, column: str, most: float, count: int) -> list[R]:
        """The first rows whose column is at most this, by it and by the name of the application."""
        query = (
            f"SELECT body FROM {table.name} WHERE program = ? AND {column} <= ? ORDER BY {column}, application LIMIT ?"
        )
        return self._read(table, query, program, most, count)

    def all(self, table: RowTable[R], program: str) -> list[R]:
        """All rows, in the order in which they came."""
        return self._read(table, f"SELECT body FROM {table.name} WHERE program = ? ORDER BY rowid", program)

    def _read(self, table: RowTable[R], query: str, *values: object) -> list[R]:
        decode = record_decoder(table.struct)
        with ledger_errors(self.path):
            return [decode(body) for (body,) in self.db.execute(query, values)]


def read_states(state: PartitionState, rest: RowsAtRest) -> None:
    """Restore the states of all programs."""
    for kind in states.values():
        decode, kept = record_decoder(kind), state.states.setdefault(kind, {})
        for name, shard, body in rest.db.execute(f"SELECT * FROM {kind.table} ORDER BY rowid").fetchall():
            program = state.programs[name]
            rows = partial(rest.all, program=name)
            stored = StoredProgram(program, state.watermark_ms(program), _pooled_cases(rest.db, name), rows)
            try:
                value = kept[ShardKey(name, shard)] = decode(body)
                value.begin(program)
                value.restore(stored)
            except DAMAGE_ERRORS:
                raise
            except ValueError as error:
                raise LedgerError(
                    f"ledger {rest.path}: what table {kind.table} holds of program {name!r} does not fit it any more "
                    f"({error}): restore the version of onward that wrote it, or use another state directory"
                ) from error


def _pooled_cases(db: sqlite3.Connection, program: str) -> Iterator[Case]:
    named = "program = (SELECT id FROM programs WHERE program = ?)"
    for (body,) in db.execute(f"SELECT body FROM cases WHERE {named} AND pooled = 1 ORDER BY rowid", (program,)):
        yield decode_case(body)


def write_states(db: sqlite3.Connection, state: PartitionState, effects: PortionChanges) -> None:
    """Write the states and rows that a portion has changed."""
    for kind, keys in effects.states.items():
        changed = {key: state.states[kind][key] for key in keys}
        for value in changed.values():
            value.collect()
        db.executemany(
            _insert(kind.table, ("program", "shard"), ("body",)),
            [(*key, encode_record(value)) for key, value in changed.items()],
        )
    for table, rows in effects.rows.items():
        deleted = [key for key, row in rows.changed.items() if row is None]
        db.executemany(f"DELETE FROM {table.name} WHERE program = ? AND application = ?", deleted)
        db.executemany(
            _insert(table.name, ("program", "application"), (*table.columns, "body")),
            [
                (*key, *columns_of(table, row), encode_record(row))
                for key, row in rows.changed.items()
                if row is not None
            ],
        )


def columns_of(table: RowTable[Any], row: Any) -> list[object]:
    """The values of the columns by which a row is found."""
    return [getattr(row, column) for column in table.columns]


def _insert(table: str, key: tuple[str, str], values: tuple[str, ...]) -> str:
    """A row that changes keeps its place."""
    marks = ", ".join("?" for _ in chain(key, values))
    changes = ", ".join(f"{name} = excluded.{name}" for name in values)
    return f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"
