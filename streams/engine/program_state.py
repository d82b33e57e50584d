"""State that the engine keeps of a program beside its cases and learners. A kind of it is declared once, as a class.

The fold, the ledger and its check read the declaration: the tables, the fields, and how the state follows a changed
spec. A room adds its class with ``contract.add``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from msgspec import Struct

from ..journal.entries import CaseKey
from ..programs.program import Program
from .cases import Case
from .shards import Shard

R = TypeVar("R", bound=Struct)


@dataclass(frozen=True, eq=False)
class RowTable(Generic[R]):
    """A table of the ledger with rows for applications of a program: those whose promise is open, say.

    ``struct`` is what a row holds; its attribute ``key`` is that of the application. ``columns`` are attributes of it
    by which rows are found, with their SQL types; rows in which one is null are not found by it.
    """

    name: str
    struct: type[R]
    columns: Mapping[str, str] = field(default_factory=dict)


class RowReader(Protocol):
    """Reads the rows of a program that are at rest in the ledger."""

    def equal(self, table: RowTable[R], program: str, column: str, value: object) -> Iterable[R]:
        """The rows whose column, or ``application``, has this value."""

    def up_to(self, table: RowTable[R], program: str, column: str, most: float, count: int) -> Iterable[R]:
        """The first ``count`` rows whose column is at most this, by it and by the name of the application."""


class Rows(Generic[R]):
    """The rows of a table as a portion sees them: those at rest, and what it has ``changed`` (None: deleted)."""

    def __init__(self, table: RowTable[R], at_rest: RowReader) -> None:
        self._table = table
        self._at_rest = at_rest
        self._changed_with: defaultdict[tuple[str, str, object], set[CaseKey]] = defaultdict(set)
        self.changed: dict[CaseKey, R | None] = {}

    def get(self, key: CaseKey) -> R | None:
        """The row of an application."""
        if key in self.changed:
            return self.changed[key]
        return next(iter(self._at_rest.equal(self._table, key.program, "application", key.application)), None)

    def equal(self, program: str, column: str, value: object) -> list[R]:
        """The rows of a program whose column has this value."""
        at_rest = self._at_rest.equal(self._table, program, column, value)
        changed = map(self.changed.get, sorted(self._changed_with[program, column, value]))
        return [row for row in at_rest if _key(row) not in self.changed] + [
            row for row in changed if row is not None and getattr(row, column) == value
        ]

    def up_to(self, program: str, column: str, most: float, count: int) -> list[R]:
        """The first ``count`` rows of a program whose column is at most this, by it and by application."""
        changed = {key: row for key, row in self.changed.items() if key.program == program}
        at_rest = self._at_rest.up_to(self._table, program, column, most, count + len(changed))
        rows = [row for row in at_rest if _key(row) not in changed]
        rows += [row for row in changed.values() if row is not None and getattr(row, column) <= most]
        return sorted(rows, key=lambda row: (getattr(row, column), _key(row).application))[:count]

    def put(self, row: R) -> None:
        """Write the row of an application."""
        key = _key(row)
        self.changed[key] = row
        for column in self._table.columns:
            self._changed_with[key.program, column, getattr(row, column)].add(key)

    def delete(self, key: CaseKey) -> None:
        """Delete the row of an application."""
        self.changed[key] = None


def _key(row: Any) -> CaseKey:
    key: CaseKey = row.key
    return key


@dataclass(frozen=True)
class StoredProgram:
    """The view of a program that its states have when a ledger is opened.

    ``pooled_cases`` are those that wait in a pool. ``rows`` reads all rows of a table. Both are in the order in which
    they came.
    """

    program: Program
    watermark_ms: int | None
    pooled_cases: Iterable[Case]
    rows: Callable[[RowTable[Any]], Iterable[Any]]


class ProgramState(Struct, dict=True):
    """A kind of state: a value for each program, or for each shard of it, and rows for single applications.

    Its fields are what the ledger keeps, arrays as they are. Other attributes follow from them, from the program and
    from rows: ``begin`` and ``restore`` set them. The values of a program have the shard 0. A value is made when
    something first changes it.
    """

    table: ClassVar[str]
    """The ledger's table of the values."""
    rows: ClassVar[tuple[RowTable[Any], ...]] = ()
    """The tables of its rows."""

    def begin(self, program: Program) -> None:
        """Begin with the fields as they are by default."""
        self.program = program

    def restore(self, stored: StoredProgram) -> None:
        """Go on with fields from the ledger, after ``begin``; ``ValueError`` where they do not fit the program."""

    def change(self, program: Program) -> None:
        """Go on under another spec of the program."""
        self.program = program

    def collect(self) -> None:
        """Bring the fields up to date before they are written."""

    def shard_begins(self, shard: Shard) -> None:
        """A shard of the program answers for the first time."""

    @property
    def is_unfinished(self) -> bool:
        """Whether there is work that later entries carry on (``contract.Work``)."""
        return False


class UnfinishedState(ProgramState):
    """A state with work that is done in pieces.

    ``credit`` is the units of work that may be done: below 0 where more has been done than the journal's entries gave
    so far, 0 where nothing is left to do.
    """

    credit: int = 0
