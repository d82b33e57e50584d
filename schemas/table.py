"""Data files: a CSV whose columns are a program's features and label, read by its spec.

A categorical feature may stand in one column of category names, or in its one-hot columns. Columns that the spec
does not name are ignored. An empty cell is read as the feature's ``missing`` value, where the spec gives one.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .encoding import FeatureCodec, columns_of
from .events import Value
from .feature_check import check_value, listed, quoted
from .feature_reader import Features, spelling
from .identifier import identifier_fault
from .normal_form import normal_form
from .problems import did_you_mean
from .spec import Feature, ProgramSpec

Column = Sequence[str]
Lines = Sequence[int]

MOST_COLUMNS = 10_000
MAX_REPORTED = 10
"""Most errors of a data file that are reported."""
DELIMITERS = ",;\t|"
"""What may stand between cells. The first of them that the header line holds outside quotes does."""
NOT_GIVEN = frozenset(("", "na", "n/a", "nan", "null", "none", "nil", "?", "-", "."))
"""What people write into a column of numbers for a cell without a value, in lower case."""
QUOTED = re.compile(r'"[^"]*("|$)')
THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?")
"""A number whose commas may separate thousands."""
DECIMAL_COMMA = re.compile(r"[-+]?[0-9]*,[0-9]+")
NOT_ONE_HOT = "\0"
"""Stands for the category in a row whose one-hot columns are not one 1 and else 0; no category is written so."""
NO_VALUE = "the cell has no value: give one, or `missing: VALUE` for the feature in the spec"


class TableError(Exception):
    """A data file that does not fit its spec: ``file:line: column: message``. ``line`` is None for the whole file.

    Its text has one more line for each of the ``further`` errors.
    """

    exit_code = 2

    def __init__(self, file: Path, line: int | None, column: str | None, message: str, *further: TableError) -> None:
        self.file, self.line, self.column, self.message = file, line, column, message
        place = str(file) if line is None else f"{file}:{line}"
        first = ": ".join(part for part in (place, column, message) if part)
        super().__init__("\n".join([first, *map(str, further)]))


@dataclass(frozen=True, eq=False)
class Table:
    """N rows of raw features, their labels (N,) with 1 = desired and 0 = not, and their encoding ``X`` (N, D)."""

    rows: list[dict[str, Value]]
    labels: NDArray[np.int64]
    X: NDArray[np.float64]


@dataclass(frozen=True)
class RawTable:
    """A CSV as text: the cells of each column by its name, and the line of the file each row ends in.

    ``uneven`` are the rows, by number from 0, that have not one cell for each column, with a message.
    """

    file: Path
    columns: Mapping[str, Column]
    lines: Lines
    uneven: Mapping[int, str] = field(default_factory=dict)


class PeopleRead(NamedTuple):
    """The raw features of people by name, and what is wrong with the rows that cannot be used.

    A feature is None where its cell is empty and the spec has a ``missing`` value for it.
    """

    people: dict[str, dict[str, Value | None]]
    problems: list[TableError]

    def all(self) -> dict[str, dict[str, Value | None]]:
        """The people; raise ``TableError`` with the first problems where there are any."""
        _raise_first(self.problems)
        return self.people


def read_csv(path: str | Path, *, uneven: bool = False) -> RawTable:
    """A CSV with a header line, in UTF-8 with or without a byte order mark. Raises ``TableError``.

    Semicolons, tabs or vertical bars may stand in for the commas. Its texts are brought into Unicode's normal form C.
    A row of too many or too few cells is an error, unless ``uneven`` rows are to be kept in the table.
    """
    file = Path(path)
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            first = stream.readline()
            lines_of_text = map(normal_form, chain([first], stream))
            reader = csv.reader(lines_of_text, strict=True, delimiter=_delimiter(first))
            header = [name.strip() for name in next(reader, [])]
            _check_header(file, header)
            lines: list[int] = []
            rows: list[list[str]] = []
            wrong: dict[int, str] = {}
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    wrong[len(rows)] = f"{len(row)} cells for {len(header)} columns"
                    if not uneven:
                        raise TableError(file, reader.line_num, None, wrong[len(rows)])
                lines.append(reader.line_num)
                rows.append([*row, *[""] * len(header)][: len(header)])
    except OSError as error:
        raise TableError(file, None, None, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TableError(file, None, None, "not UTF-8 text: save it as CSV in UTF-8") from None
    except csv.Error as error:
        raise TableError(file, reader.line_num, None, f"not CSV: {error}") from None
    if not rows:
        raise TableError(file, None, None, "no rows below the header")
    return RawTable(file, dict(zip(header, zip(*rows, strict=True), strict=True)), lines, wrong)


def read_table(path: str | Path, spec: ProgramSpec) -> Table:
    """The rows, labels and encoded matrix of a data file. Raises ``TableError`` with its first errors."""
    raw, codec = _respelled(read_csv(path), spec), FeatureCodec(spec)
    _check_columns(raw, spec, label=spec.label.name)
    given = _feature_rows(raw, spec)
    wrong = _problems(raw, given, spec)
    problems = [TableError(raw.file, raw.lines[row], None, message) for row in wrong for message in wrong[row]]
    _raise_first([*problems, *_empty_labels(raw, spec.label.name)])
    rows = [dict(codec.completed(row)) for row in given]
    return Table(rows, _labels(raw, spec), codec.encode_many(rows))


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


def label_cells(raw: RawTable, name: str) -> list[str]:
    """The cells of the label column. Raises ``TableError`` when it is missing, or cells are empty."""
    _raise_first(_empty_labels(raw, name))
    return [cell.strip() for cell in raw.columns[name]]


def number(text: str) -> int | float | str:
    """A cell as a number when it is one (an int when it is written as one), else the text itself."""
    if "_" in text:
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def is_not_given(text: str) -> bool:
    """Whether a cell of a column of numbers stands for a value that is not known."""
    return text.strip().lower() in NOT_GIVEN


def _respelled(raw: RawTable, spec: ProgramSpec) -> RawTable:
    """A table in normal form C with the names and texts of a spec that is written otherwise."""
    names = [*chain.from_iterable(map(columns_of, spec.features)), spec.label.name, str(spec.label.desired)]
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
    columns = columns_of(feature)
    missing = [column for column in columns if column not in raw.columns]
    if feature.name in raw.columns or not missing:
        return {}
    if feature.type != "categorical" or len(missing) == len(columns):
        return {feature.name: f"the column is missing{did_you_mean(feature.name, raw.columns)}"}
    return dict.fromkeys(missing, f"the column is missing (one-hot, feature {feature.name})")


def _feature_rows(raw: RawTable, spec: ProgramSpec) -> list[dict[str, Value | None]]:
    """The features of every row; None where a cell is empty and the spec has a ``missing`` value."""
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
    problem = None if cell is None else check_value(feature, cell)
    if problem is None:
        return None
    message = _not_a_value(feature, cell) if isinstance(cell, str) else None
    return problem.detail if message is None else f"{feature.name}: {message}"


def _not_a_value(feature: Feature, cell: str) -> str | None:
    if cell == NOT_ONE_HOT:
        return f"of the columns {', '.join(columns_of(feature))} one must be 1, others 0"
    if is_not_given(cell) if feature.bounds is not None else not cell:
        return NO_VALUE
    if feature.bounds is None:
        return None
    shown = "the value" if feature.pii else quoted(cell)
    if THOUSANDS.fullmatch(cell.strip()):
        return f"{shown} has a comma: write 1200 if 1,200 has a thousands separator, 1.2 if a decimal comma"
    if DECIMAL_COMMA.fullmatch(cell.strip()):
        return f"{shown} has a decimal comma: write a decimal point"
    return f"{shown} is not a number"


def _empty_labels(raw: RawTable, name: str) -> list[TableError]:
    if name not in raw.columns:
        raise TableError(raw.file, 1, name, f"the label column is missing{did_you_mean(name, raw.columns)}")
    cells = zip(raw.lines, raw.columns[name], strict=True)
    return [TableError(raw.file, line, name, "the label is empty") for line, cell in cells if not cell.strip()]


def _raise_first(errors: Iterable[TableError]) -> None:
    """Raise the first errors, by line, as one that counts the rest; return when there are none."""
    ordered = sorted(errors, key=lambda error: error.line or 0)
    if not ordered:
        return
    first, *further = ordered[:MAX_REPORTED]
    if (more := len(ordered) - MAX_REPORTED) > 0:
        further.append(TableError(first.file, None, None, f"{more} more such problems"))
    raise TableError(first.file, first.line, first.column, first.message, *further)


def _delimiter(header: str) -> str:
    """The delimiter of a header line; a comma when there is only one column.

    ``csv.Sniffer`` looks at the rows too, where it takes letters and decimal commas for delimiters.
    """
    names = QUOTED.sub("", header)
    return next((delimiter for delimiter in DELIMITERS if delimiter in names), DELIMITERS[0])


def _check_header(file: Path, header: Sequence[str]) -> None:
    if not header:
        raise TableError(file, None, None, "the file is empty")
    if len(header) > MOST_COLUMNS:
        raise TableError(file, 1, None, f"{len(header):,} columns, {MOST_COLUMNS:,} at most: keep those that matter")
    seen = set[str]()
    for name in header:
        if name in seen:
            raise TableError(file, 1, name, "two columns have this name")
        seen.add(name)


def _feature_values(raw: RawTable, feature: Feature) -> Iterator[Value | None]:
    if feature.name in raw.columns:
        return map(_reader(feature), raw.columns[feature.name])
    return _categories(raw, feature, columns_of(feature))


def _reader(feature: Feature) -> Callable[[str], Value | None]:
    read: Callable[[str], Value] = str.strip
    if feature.bounds is not None:
        read = number if feature.type == "continuous" else _whole_number
    if feature.missing is None:
        return read
    is_missing = is_not_given if feature.bounds is not None else _is_blank
    return lambda text: None if is_missing(text) else read(text)


def _is_blank(text: str) -> bool:
    return not text.strip()


def _whole_number(text: str) -> Value:
    value = number(text)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _categories(raw: RawTable, feature: Feature, columns: Sequence[str]) -> Iterator[Value | None]:
    categories = feature.categories or ()
    for cells in zip(*(raw.columns[column] for column in columns), strict=True):
        if feature.missing is not None and all(map(_is_blank, cells)):
            yield None
            continue
        values = [number(cell) for cell in cells]
        is_one_hot = values.count(1) == 1 and values.count(0) == len(values) - 1
        yield categories[values.index(1)] if is_one_hot else NOT_ONE_HOT


def _labels(raw: RawTable, spec: ProgramSpec) -> NDArray[np.int64]:
    name, desired = spec.label.name, spec.label.desired
    cells = [cell.strip() for cell in raw.columns[name]]
    values: Sequence[Value] = cells if isinstance(desired, str) else [number(cell) for cell in cells]
    labels = np.fromiter((value == desired for value in values), dtype=np.int64, count=len(values))
    if not labels.any():
        shown = listed(sorted(set(cells)))
        raise TableError(raw.file, None, name, f"no row has the desired value {desired!r}; values are {shown}")
    return labels
