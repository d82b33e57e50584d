"""People as Python programs hold them: a CSV, a data frame, or dicts. All are read as the cells of a table."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from io import IOBase
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from ...schemas.events import NoRecourse, Recourse, Value
from ...schemas.normal_form import normal_form
from ...schemas.spec import ProgramSpec
from ...schemas.table import PeopleRead, RawTable, TableError, people_of, read_people
from ..errors import UsageError
from .arguments import path_of, text_of
from .usage_errors import usage_errors

IN_MEMORY = Path("people")
"""The name in errors in the place of a file; a row's number, from 0, is in the place of the line."""
NOT_GIVEN = {"NoneType", "NAType", "NaTType"}
"""The types of what stands for no value: Python's, and pandas'."""
WANTED = "give a list of dicts, a data frame, or the path of a CSV"
INDEX = "the index"
"""The name of an index that has none."""


class Frame(Protocol):
    """A table in memory with a method like that of pandas' data frames, or of polars'."""

    def to_dict(self, orient: Any, /) -> Any:
        """The rows as dicts, for the argument ``"records"``."""


class PolarsFrame(Protocol):
    """A table in memory with a method like that of polars' data frames."""

    def to_dicts(self) -> Any:
        """The rows as dicts."""


People = str | Path | Iterable[Mapping[str, Any]] | Frame | PolarsFrame
"""A CSV's path, dicts of features, or a data frame."""


class Origin(NamedTuple):
    """Where people come from: the library of their data frame, and what it calls them.

    ``person`` is the name of the column, or of the index, that names them; ``labels`` holds what stands there by the
    person's name, and ``dtype`` is its type in the library.
    """

    library: str | None = None
    person: str | None = None
    labels: Mapping[str, Any] = {}
    dtype: Any = None


UNKNOWN = Origin()
"""That of people who come from no data frame."""


class ValidPeople(NamedTuple):
    """The raw features of the people whose rows can be used, by name, and the problems of the others, one a line.

    A feature is None where it is not given and the spec has a ``missing`` value for it. ``left_out`` is the number of
    rows with problems; a row has a line for each.
    """

    people: dict[str, dict[str, Value | None]]
    problems: tuple[str, ...]
    left_out: int
    origin: Origin = UNKNOWN

    def has(self, answer: object) -> bool:
        """Whether this is an answer to one of them."""
        return isinstance(answer, Recourse | NoRecourse) and answer.application in self.people


def read(people: People, spec: ProgramSpec, id_column: str | None = None) -> ValidPeople:
    """The raw features of people by name, checked against the spec. Other columns are ignored.

    The name is the value of ``id_column``, else the label of a data frame's index, else the number of the row from 0.
    Raise ``UsageError`` with the first problems, one a line.
    """
    with usage_errors():
        features, origin = _read(people, spec, id_column)
        return ValidPeople(features.all(), (), 0, origin)


def read_valid(people: People, spec: ProgramSpec, id_column: str | None = None) -> ValidPeople:
    """The people of ``read`` whose rows can be used, and the problems of the others.

    Raise ``UsageError`` where nothing can be read, such as a file without a column that is needed.
    """
    with usage_errors():
        (features, problems), origin = _read(people, spec, id_column)
    return ValidPeople(features, tuple(map(str, problems)), len({problem.line for problem in problems}), origin)


def _read(people: People, spec: ProgramSpec, id_column: str | None) -> tuple[PeopleRead, Origin]:
    id_column = None if id_column is None else text_of("id", id_column)
    if isinstance(people, str | os.PathLike):
        return read_people(path_of("people", people), spec, id_column), Origin(person=id_column)
    table = _table(people)
    if table is None:
        return PeopleRead({}, []), UNKNOWN
    origin = Origin(type(people).__module__.partition(".")[0], id_column)
    index = _index(people, id_column, table.columns)
    if index is not None:
        names = list(map(str.strip, map(_cell, index)))
        labels = dict(zip(names, index, strict=True))
        origin = origin._replace(person=_name(index, table.columns), labels=labels, dtype=index.dtype)
        # The numbers of the rows, as an index has them by default, are what people are called anyway.
        if id_column is not None or names != list(map(str, table.lines)):
            id_column = origin.person or INDEX
            table = replace(table, columns={**table.columns, id_column: names})
    elif id_column in table.columns and id_column in getattr(people, "columns", ()):
        ids = people[id_column]  # type: ignore[index]  # a frame with columns has them by name
        labels = {_cell(label).strip(): label for label in ids}
        origin = origin._replace(labels=labels, dtype=getattr(ids, "dtype", None))
    try:
        return people_of(table, spec, id_column), origin
    except TableError as error:
        # A missing column is missing in every row; in a CSV it is the header's fault.
        raise UsageError(str(error).replace(f"{IN_MEMORY}:1: ", f"{IN_MEMORY}: ", 1)) from None


def _table(people: Any) -> RawTable | None:
    """The rows as the text of a table, so that one reader decides what a value means; None for nobody at all."""
    in_frame = _is_frame(people) and hasattr(people, "columns")
    names = _distinct(people.columns) if in_frame else []
    records = _records(people)
    if not in_frame:
        names = _distinct(dict.fromkeys(name for record in records for name in record))
        if not records:
            return None
    columns = {normal_form(str(name)): [_cell(record.get(name)) for record in records] for name in names}
    typed = {normal_form(str(name)) for name in names if not any(isinstance(row.get(name), str) for row in records)}
    return RawTable(IN_MEMORY, columns, range(len(records)), typed=typed)


def _distinct(names: Iterable[Any]) -> list[Any]:
    """The names of columns; raise ``UsageError`` where two are the same."""
    distinct = list(names)
    for name, count in Counter(normal_form(str(name)) for name in distinct).items():
        if count > 1:
            raise UsageError(f"{IN_MEMORY}: {name}: two columns have this name")
    return distinct


def one_person(person: Any) -> People:
    """One person as ``read`` takes people: from a dict, a row of pandas, or a data frame of one row."""
    if isinstance(person, Mapping):
        return [person]
    if _is_frame(person) and hasattr(person, "columns"):
        if len(person) == 1:
            return cast(People, person)
        raise UsageError(f"the person is a {type(person).__name__} of {len(person)} rows: give one row")
    row = person.to_dict() if _is_frame(person) and hasattr(person, "to_dict") else None
    if isinstance(row, Mapping):
        return [row]
    raise UsageError(f"the person is a {type(person).__name__}: give a dict with the features, or a data frame's row")


def _is_frame(people: Any) -> bool:
    return not isinstance(people, type) and (hasattr(people, "to_dict") or hasattr(people, "to_dicts"))


def _records(people: Any) -> list[Mapping[str, Any]]:
    rows = _rows_of(people) if _is_frame(people) else people
    if isinstance(rows, Mapping | bytes | type | IOBase) or not isinstance(rows, Iterable):
        lazy = ", such as that of `.collect()`" if hasattr(people, "collect") else ""
        raise UsageError(f"people are a {type(people).__name__}: {WANTED}{lazy}")
    records = list(rows)
    for number, row in enumerate(records):
        if not isinstance(row, Mapping):
            raise UsageError(f"{IN_MEMORY}:{number}: a {type(row).__name__}: {WANTED}")
    return records


def _rows_of(frame: Any) -> Any:
    """The rows of a data frame; None of what has such a method, and is none."""
    try:
        return frame.to_dicts() if hasattr(frame, "to_dicts") else frame.to_dict("records")
    except TypeError:
        return None


def _index(people: Any, id_column: str | None, columns: Container[str]) -> Any:
    """The index of a pandas data frame, where it names the people; None elsewhere."""
    index: Any = getattr(people, "index", None)
    levels = getattr(index, "nlevels", None)
    if levels is None or (id_column is not None and (id_column in columns or id_column != index.name)):
        return None
    if levels > 1:
        raise UsageError(f"{IN_MEMORY}: the index has {levels} levels: name a column with `id`, or leave one level")
    return index


def _name(index: Any, columns: Container[str]) -> str | None:
    """The name of an index, where no column has it."""
    return index.name if isinstance(index.name, str) and index.name not in columns else None


def _cell(value: Any) -> str:
    """A value as a CSV would hold it: a number with all its digits, and nothing where there is no value."""
    if type(value).__name__ in NOT_GIVEN:
        return ""
    try:
        return "" if value != value else normal_form(str(value))
    except Exception:  # a number of very many digits, or whatever the text of an object raises
        return f"<{type(value).__name__}>"
