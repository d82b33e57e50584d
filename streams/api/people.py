"""People as Python programs hold them: a CSV, a data frame, or dicts. All are read as the cells of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ...schemas.events import Value
from ...schemas.normal_form import normal_form
from ...schemas.spec import ProgramSpec
from ...schemas.table import PeopleRead, RawTable, TableError, people_of, read_people
from ..errors import UsageError
from .one_error import usage_errors

IN_MEMORY = Path("people")
"""What errors name in the place of a file; a row's number, from 0, is in the place of the line."""
NOT_GIVEN = {"NoneType", "NAType", "NaTType"}
"""The types of what stands for no value: Python's, and pandas'."""
WANTED = "give a list of dicts, a data frame, or the path of a CSV"


class Frame(Protocol):
    """A table in memory with a method like that of pandas' data frames."""

    def to_dict(self, orient: Any, /) -> Any:
        """The rows as dicts, for the argument ``"records"``."""


People = str | Path | Iterable[Mapping[str, Any]] | Frame
"""A CSV's path, dicts of features, or a data frame."""


class ValidPeople(NamedTuple):
    """The raw features of the people whose rows can be used, by name, and the problems of the others, one a line.

    A feature is None where it is not given and the spec has a ``missing`` value for it. ``left_out`` is the number of
    rows with problems; a row has a line for each.
    """

    people: dict[str, dict[str, Value | None]]
    problems: tuple[str, ...]
    left_out: int


def read(people: People, spec: ProgramSpec, id_column: str | None = None) -> dict[str, dict[str, Value | None]]:
    """The raw features of people by name, checked against the spec. Other columns are ignored.

    The name is the value of ``id_column``, else the number of the row from 0. Raise ``UsageError`` with the first
    problems, one a line.
    """
    with usage_errors():
        return _read(people, spec, id_column).all()


def read_valid(people: People, spec: ProgramSpec, id_column: str | None = None) -> ValidPeople:
    """Those of ``read`` whose rows can be used, and what is wrong with the others.

    Raise ``UsageError`` where nothing can be read, such as a file without a column that is needed.
    """
    with usage_errors():
        found, problems = _read(people, spec, id_column)
    return ValidPeople(found, tuple(map(str, problems)), len({problem.line for problem in problems}))


def _read(people: People, spec: ProgramSpec, id_column: str | None) -> PeopleRead:
    if isinstance(people, str | Path):
        return read_people(people, spec, id_column)
    records = _records(people)
    try:
        return people_of(_table(records), spec, id_column) if records else PeopleRead({}, [])
    except TableError as error:
        # A missing column is missing in every row; in a CSV it is the header's fault.
        raise UsageError(str(error).replace(f"{IN_MEMORY}:1: ", f"{IN_MEMORY}: ", 1)) from None


def _records(people: Any) -> list[Mapping[str, Any]]:
    rows = people.to_dict("records") if hasattr(people, "to_dict") else people
    if isinstance(rows, Mapping) or not isinstance(rows, Iterable):
        raise UsageError(f"people are a {type(people).__name__}: {WANTED}")
    records = list(rows)
    for number, row in enumerate(records):
        if not isinstance(row, Mapping):
            raise UsageError(f"{IN_MEMORY}:{number}: a {type(row).__name__}: {WANTED}")
    return records


def _table(records: list[Mapping[str, Any]]) -> RawTable:
    """The records as the text of a table, so that one reader decides what a value means."""
    names = dict.fromkeys(name for record in records for name in record)
    columns = {normal_form(str(name)): [_cell(record.get(name)) for record in records] for name in names}
    return RawTable(IN_MEMORY, columns, range(len(records)))


def _cell(value: Any) -> str:
    """A value as a CSV would hold it: a number with all its digits, and nothing where there is no value."""
    if type(value).__name__ in NOT_GIVEN or (isinstance(value, float) and value != value):
        return ""
    return normal_form(str(value))
