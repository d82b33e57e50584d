"""Data files: a CSV whose columns are a program's features and label, read by its spec.

A categorical feature may stand in one column of category names, or in its one-hot columns. Columns that the spec
does not name are ignored. A cell without a value is read as the feature's ``missing`` value, where the spec gives one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .cell import CellReader, LabelReader, is_flag
from .encoding import FeatureCodec, data_columns_of
from .events import Value
from .feature_check import check_value, listed, quoted
from .feature_reader import Features, spelling
from .identifier import identifier_fault
from .normal_form import normal_form
from .not_given import is_not_given
from .number_text import first_dotted, may_have_thousands, not_a_number
from .problems import did_you_mean
from .raw_table import RawTable as RawTable
from .raw_table import TableError as TableError
from .raw_table import read_csv as read_csv
from .spec import Feature, ProgramSpec
from .unlabelled import Unlabelled

MAX_REPORTED = 10
"""Most errors of a data file that are reported."""
NOT_ONE_HOT = "\0"
"""Stands for the category in a row whose one-hot columns are not one 1 and else 0; no category is written so."""
NO_LABEL = "no row has a label"
NO_VALUE = "the cell has no value: give one, or `missing: VALUE` for the feature in the spec"


@dataclass(frozen=True, eq=False)
class Table:
    """N rows of raw features, their labels (N,) with 1 = desired and 0 = not, and their encoding ``X`` (N, D).

    ``absent`` (N,) says of the features that some rows lack in which ones the spec's ``missing`` value stands for it.
    ``unlabelled`` (M,) says which of the M rows of the file have no label, since nobody knows yet what came of them.
    Where the spec reads these, ``others`` are the raw features of those that fit it, and ``other_X`` (m, D) their
    encoding; None where it leaves them out.
    """

    rows: list[dict[str, Value]]
    labels: NDArray[np.int64]
    X: NDArray[np.float64]
    unlabelled: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    absent: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    others: list[dict[str, Value]] = field(default_factory=list)
    other_X: NDArray[np.float64] | None = None

    def is_given(self, feature: str) -> NDArray[np.bool_]:
        """Which rows have a value of a feature, (N,)."""
        absent = self.absent.get(feature)
        return np.ones(len(self.rows), dtype=np.bool_) if absent is None else ~absent

    @property
    def without_label(self) -> Unlabelled | None:
        """The rows without a label; None where all have one."""
        count = int(self.unlabelled.sum())
        if not count:
            return None
        return (
            Unlabelled(count) if self.other_X is None else Unlabelled(count, len(self.others), count - len(self.others))
        )


class PeopleRead(NamedTuple):
    """The raw features of people by name, and what is wrong with the rows that cannot be used.

    A feature is None where its cell is empty and the spec has a ``missing`` value for it.
    """

    people: dict[str, dict[str, Value | None]]
    problems: list[TableError]

    def all(self) -> dict[str, dict[str, Value | None]]:
        """The people; raise ``TableError`` with the first problems where there are any."""
        raise_first(self.problems)
        return self.people


class LabelledRows(NamedTuple):
    """The rows of a data file whose label is given: their cells as text, their features, and their labels (N,).

    A feature is None where its cell has no value. ``unlabelled`` (M,) says which of the M rows of the file have none.
    ``others`` are the features of those of them that fit the spec; None where the spec leaves them out.
    """

    raw: RawTable
    given: list[dict[str, Value | None]]
    labels: NDArray[np.int64]
    unlabelled: NDArray[np.bool_]
    others: list[dict[str, Value | None]] | None = None


def read_table(path: str | Path, spec: ProgramSpec) -> Table:
    """The rows, labels and encoded matrix of a data file. Raises ``TableError`` with its first errors.

    A row whose label is not given is left out, whatever else stands in it; or read as one of the ``others``, where the
    spec says so and the row fits it.
    """
    codec, read = FeatureCodec(spec), read_labelled(path, spec)
    rows = [dict(codec.completed(row)) for row in read.given]
    may_lack = (feature.name for feature in spec.features if feature.missing is not None)
    absent = {name: np.array([row.get(name) is None for row in read.given]) for name in may_lack}
    absent = {name: rows for name, rows in absent.items() if rows.any()}
    others = [dict(codec.completed(row)) for row in read.others or ()]
    encoded = None if read.others is None else codec.encode_many(others).reshape(len(others), codec.dimension)
    return Table(rows, read.labels, codec.encode_many(rows), read.unlabelled, absent, others, encoded)


def read_labelled(path: str | Path, spec: ProgramSpec) -> LabelledRows:
    """The rows of a data file as its cells have them. Raises ``TableError`` with its first errors."""
    raw = _respelled(read_csv(path), spec)
    _check_columns(raw, spec, label=spec.label.name)
    label = LabelReader(spec.label)
    unlabelled = np.array([not label.is_given(cell) for cell in raw.columns[spec.label.name]], dtype=np.bool_)
    others = _fitting(raw.only(unlabelled), spec) if spec.label.are_selected else None
    raw = raw.only(~unlabelled)
    if not raw.lines:
        raise TableError(raw.file, None, spec.label.name, NO_LABEL)
    given = _feature_rows(raw, spec)
    wrong = _problems(raw, given, spec)
    raise_first(TableError(raw.file, raw.lines[row], None, message) for row in wrong for message in wrong[row])
    return LabelledRows(raw, given, _labels(raw, spec.label.name, label), unlabelled, others)


def _fitting(raw: RawTable, spec: ProgramSpec) -> list[dict[str, Value | None]]:
    """The features of the rows that fit the spec: of what only tells what people are like no row is worth an error."""
    rows = _feature_rows(raw, spec)
    wrong = _problems(raw, rows, spec)
    return [row for number, row in enumerate(rows) if number not in wrong]


def read_people(path: str | Path, spec: ProgramSpec, id_column: str | None = None) -> PeopleRead:
    """The people of a CSV; a file of people needs no label.

    The name is the cell of ``id_column``, else the number of the row from 0. Raises ``TableError`` where the file as a
    whole cannot be used. A row that cannot be used is left out, with all its problems.
    """
    return people_of(read_csv(path, uneven=True), spec, id_column)


def people_of(raw: RawTable, spec: ProgramSpec, id_column: str | None = None) -> PeopleRead:
    """The people of a table that has been read, as of ``read_people``."""
    raw = _respelled(raw, spec)
    id_column = None if id_column is None else normal_form(id_column)
    _check_columns(raw, spec, id_column=id_column)
    rows = _feature_rows(raw, spec)
    wrong = _problems(raw, rows, spec)
    names = list(map(str, range(len(rows))) if id_column is None else map(str.strip, raw.columns[id_column]))
    people: dict[str, dict[str, Value | None]] = {}
    problems: list[TableError] = []
    taken: set[str] = set()
    for number, (line, name, row) in enumerate(zip(raw.lines, names, rows, strict=True)):
        fault = None if number in raw.uneven else _name_fault(name, taken)
        if fault is not None:
            problems.append(TableError(raw.file, line, id_column, fault))
        elif number not in wrong:
            people[name] = row
        is_named = id_column is not None and number not in raw.uneven and identifier_fault(name) is None
        prefix = f"{name}: " if is_named else ""
        problems += [TableError(raw.file, line, None, f"{prefix}{message}") for message in wrong.get(number, ())]
        taken.add(name)
    return PeopleRead(people, problems)


def _name_fault(name: str, taken: Set[str]) -> str | None:
    """Why a person cannot have a name; None where they can."""
    if not name:
        return "the name is empty"
    if fault := identifier_fault(name):
        return f"the name cannot be used: {fault}"
    return f"the name {name!r} is given twice" if name in taken else None


def labelled(raw: RawTable, name: str) -> RawTable:
    """The rows whose label is given. Raises ``TableError`` where none is, or the column is missing."""
    if name not in raw.columns:
        raise TableError(raw.file, 1, name, f"no such column{did_you_mean(name, raw.columns)}")
    rows = raw.only([not is_not_given(cell) for cell in raw.columns[name]])
    if not rows.lines:
        raise TableError(raw.file, None, name, NO_LABEL)
    return rows


def _respelled(raw: RawTable, spec: ProgramSpec) -> RawTable:
    """A table in normal form C with the names and texts of a spec that is written otherwise."""
    names = [*chain.from_iterable(map(data_columns_of, spec.features)), spec.label.name, str(spec.label.desired)]
    spelled = {**spelling(spec.features), **{normal_form(name): name for name in names}}
    if all(normal == name for normal, name in spelled.items()):
        return raw
    columns = {
        spelled.get(name, name): [spelled.get(cell.strip(), cell) for cell in cells]
        for name, cells in raw.columns.items()
    }
    return replace(raw, columns=columns)


def _check_columns(raw: RawTable, spec: ProgramSpec, *, label: str | None = None, id_column: str | None = None) -> None:
    """Raise one ``TableError`` that names all columns which are missing."""
    missing: dict[str, str] = {}
    if id_column is not None and id_column not in raw.columns:
        missing[id_column] = "the column is missing"
    for feature in spec.features:
        missing |= _missing_columns(raw, feature)
    if label is not None and label not in raw.columns:
        missing[label] = f"the label column is missing{did_you_mean(label, raw.columns)}"
    if len(missing) == 1:
        [(name, message)] = missing.items()
        raise TableError(raw.file, 1, name, message)
    if missing:
        names = ", ".join(name + did_you_mean(name, raw.columns) for name in missing)
        raise TableError(raw.file, 1, names, "the columns are missing")


def _missing_columns(raw: RawTable, feature: Feature) -> dict[str, str]:
    """The columns that a feature lacks: its own, or some of its one-hot columns where there are others of them."""
    columns = data_columns_of(feature)
    missing = [column for column in columns if column not in raw.columns]
    if feature.name in raw.columns or not missing:
        return {}
    if feature.type != "categorical" or len(missing) == len(columns):
        return {feature.name: f"the column is missing{did_you_mean(feature.name, raw.columns)}"}
    return dict.fromkeys(missing, f"the column is missing (one-hot, feature {feature.name})")


def _feature_rows(raw: RawTable, spec: ProgramSpec) -> list[dict[str, Value | None]]:
    """The features of every row; None where a cell has no value."""
    features = {feature.name: list(_feature_values(raw, feature)) for feature in spec.features}
    return [dict(zip(features, values, strict=True)) for values in zip(*features.values(), strict=True)]


def _problems(raw: RawTable, rows: Sequence[Features], spec: ProgramSpec) -> dict[int, list[str]]:
    """All that is wrong with the rows that cannot be used, by the number of the row."""
    wrong = {number: [message] for number, message in raw.uneven.items()}
    for number, row in enumerate(rows):
        problems = (_problem(feature, row[feature.name]) for feature in spec.features)
        messages = [problem for problem in problems if problem is not None]
        if messages:
            wrong.setdefault(number, messages)
    return wrong


def _problem(feature: Feature, cell: Value | None) -> str | None:
    """What is wrong with a cell, in the words of data files; None where it is a value, or has one by the spec."""
    if cell is None:
        return None if feature.missing is not None else f"{feature.name}: {NO_VALUE}"
    problem = check_value(feature, cell)
    if problem is None:
        return None
    message = _not_a_value(feature, cell) if isinstance(cell, str) else None
    return problem.detail if message is None else f"{feature.name}: {message}"


def _not_a_value(feature: Feature, cell: str) -> str | None:
    if cell == NOT_ONE_HOT:
        columns = data_columns_of(feature)
        count = "one" if len(columns) == len(feature.values) else "at most one"
        return f"of the columns {', '.join(columns)} {count} must be 1, others 0"
    if feature.bounds is None:
        return None
    shown = "the value" if feature.pii else quoted(cell)
    return f"{shown} {not_a_number(cell, is_shown=not feature.pii)}"


def raise_first(errors: Iterable[TableError]) -> None:
    """Raise the first errors, by line, as one that counts the rest; return when there are none."""
    ordered = sorted(errors, key=lambda error: error.line or 0)
    if not ordered:
        return
    first, *further = ordered[:MAX_REPORTED]
    if (more := len(ordered) - MAX_REPORTED) > 0:
        further.append(TableError(first.file, None, None, f"{more} more such problems"))
    raise TableError(first.file, first.line, first.column, first.message, *further)


def _feature_values(raw: RawTable, feature: Feature) -> Iterator[Value | None]:
    if feature.name not in raw.columns:
        return _categories(raw, feature)
    cells, read = raw.columns[feature.name], CellReader(feature).of_text
    if feature.bounds is None or feature.name in raw.typed or not _has_unclear_dots(cells, feature):
        return map(read, cells)
    return (text if may_have_thousands(text) else read(text) for text in map(str.strip, cells))


def _has_unclear_dots(cells: Sequence[str], feature: Feature) -> bool:
    """Whether a column has numbers such as 2.170 whose dot may separate thousands, as far as the bounds allow that."""
    low, high = feature.bounds or (0.0, 0.0)
    codes = {code for code in feature.not_given if not isinstance(code, str)}
    if first_dotted(cells, codes) is None:
        return False
    dotted = filter(may_have_thousands, map(str.strip, cells))
    return any(low <= float(text.replace(".", "")) <= high for text in dotted)


def _categories(raw: RawTable, feature: Feature) -> Iterator[Value | None]:
    """The categories by one-hot columns. Of a feature with a column less than categories, 0 in all is the first one."""
    categories, columns = feature.categories or (), data_columns_of(feature)
    dropped, named = categories[: -len(columns)], categories[-len(columns) :]
    for cells in zip(*(raw.columns[column] for column in columns), strict=True):
        if all(map(is_not_given, cells)):
            yield None
            continue
        ones = [is_flag(cell, 1) for cell in cells]
        if sum(ones) + sum(is_flag(cell, 0) for cell in cells) < len(cells) or sum(ones) > 1:
            yield NOT_ONE_HOT
        elif any(ones):
            yield named[ones.index(True)]
        else:
            yield dropped[0] if dropped else NOT_ONE_HOT


def _labels(raw: RawTable, name: str, label: LabelReader) -> NDArray[np.int64]:
    cells = raw.columns[name]
    labels = np.fromiter(map(label.is_desired, cells), dtype=np.int64, count=len(cells))
    if not labels.any():
        shown = listed(sorted(set(map(str.strip, cells))))
        raise TableError(raw.file, None, name, f"no row has the desired value {label.desired!r}; values are {shown}")
    for cell in dict.fromkeys(cells):
        if label.is_misspelled(cell):
            problem = f"{cell.strip()!r} is not {label.desired!r}, and would count as the other outcome"
            raise TableError(raw.file, raw.lines[cells.index(cell)], name, f"{problem}: write them alike")
    return labels
