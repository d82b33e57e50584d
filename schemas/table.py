"""Data files: a CSV whose columns are a program's features and label, read by its spec.

A categorical feature may stand in one column of category names, or in its one-hot columns. Columns that the spec
does not name are ignored. An empty cell is read as the feature's ``missing`` value, where the spec gives one.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .encoding import FeatureCodec, columns_of
from .events import Value
from .feature_check import check_value, quoted
from .feature_reader import spelling
from .normal_form import normal_form
from .problems import did_you_mean
from .spec import Feature, ProgramSpec

Column = Sequence[str]
Lines = Sequence[int]

MAX_REPORTED = 10
"""Most errors of a data file that are reported."""
DELIMITERS = ",;\t|"
"""What may stand between cells. The first of them that the header line holds outside quotes does."""
NOT_GIVEN = frozenset(("", "na", "n/a", "nan", "null", "none", "nil", "?", "-", "."))
"""What people write into a column of numbers for a cell without a value, in lower case."""
QUOTED = re.compile(r'"[^"]*("|$)')
DECIMAL_COMMA = re.compile(r"[-+]?[0-9]*,[0-9]+")
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
    """A CSV as text: the cells of each column by its name, and the line of the file each row ends in."""

    file: Path
    columns: Mapping[str, Column]
    lines: Lines


def read_csv(path: str | Path) -> RawTable:
    """A CSV with a header line, in UTF-8 with or without a byte order mark. Raises ``TableError``.

    Semicolons, tabs or vertical bars may stand in for the commas. Its texts are brought into Unicode's normal form C.
    """
    file = Path(path)
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            first = stream.readline()
            lines_of_text = map(normal_form, chain([first], stream))
            reader = csv.reader(lines_of_text, strict=True, delimiter=_delimiter(first))
            header = [name.strip() for name in next(reader, [])]
            _check_header(file, header)
            lines, rows = [], []
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    raise TableError(file, reader.line_num, None, f"{len(row)} cells for {len(header)} columns")
                lines.append(reader.line_num)
                rows.append(row)
    except OSError as error:
        raise TableError(file, None, None, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TableError(file, None, None, "not UTF-8 text") from None
    except csv.Error as error:
        raise TableError(file, reader.line_num, None, f"not CSV: {error}") from None
    if not rows:
        raise TableError(file, None, None, "no rows below the header")
    return RawTable(file, dict(zip(header, zip(*rows, strict=True), strict=True)), lines)


def read_table(path: str | Path, spec: ProgramSpec) -> Table:
    """The rows, labels and encoded matrix of a data file. Raises ``TableError`` with its first errors."""
    raw, codec = _respelled(read_csv(path), spec), FeatureCodec(spec)
    rows = _feature_rows(raw, spec)
    _raise_first([*_problems(raw, rows, codec), *_empty_labels(raw, spec.label.name)])
    return Table(rows, _labels(raw, spec), codec.encode_many(rows))


def read_people(path: str | Path, spec: ProgramSpec, id_column: str | None = None) -> dict[str, dict[str, Value]]:
    """The raw features of people by name; a file of people needs no label.

    The name is the cell of ``id_column``, else the number of the row from 0. Raises ``TableError`` with the first
    errors.
    """
    return people_of(read_csv(path), spec, id_column)


def people_of(raw: RawTable, spec: ProgramSpec, id_column: str | None = None) -> dict[str, dict[str, Value]]:
    """The people of a table that has been read, as of ``read_people``."""
    raw, codec = _respelled(raw, spec), FeatureCodec(spec)
    id_column = None if id_column is None else normal_form(id_column)
    if id_column is not None and id_column not in raw.columns:
        raise TableError(raw.file, 1, id_column, "the column is missing")
    rows = _feature_rows(raw, spec)
    _raise_first(_problems(raw, rows, codec))
    names = map(str, range(len(rows))) if id_column is None else map(str.strip, raw.columns[id_column])
    people: dict[str, dict[str, Value]] = {}
    for line, name, row in zip(raw.lines, names, rows, strict=True):
        if not name or name in people:
            what = f"the name {name!r} is given twice" if name else "the name is empty"
            raise TableError(raw.file, line, id_column, what)
        people[name] = row
    return people


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


def _feature_rows(raw: RawTable, spec: ProgramSpec) -> list[dict[str, Value]]:
    features = {feature.name: list(_feature_values(raw, feature)) for feature in spec.features}
    return [dict(zip(features, values, strict=True)) for values in zip(*features.values(), strict=True)]


def _problems(raw: RawTable, rows: Sequence[Mapping[str, Value]], codec: FeatureCodec) -> list[TableError]:
    problems = ((line, row, codec.check(row)) for line, row in zip(raw.lines, rows, strict=True))
    return [
        TableError(raw.file, line, None, _explained(codec.spec, row) or problem.detail)
        for line, row, problem in problems
        if problem is not None
    ]


def _explained(spec: ProgramSpec, row: Mapping[str, Value]) -> str | None:
    """What is wrong with a row's first cell that is no value of its feature, where a data file needs other words."""
    feature = next(feature for feature in spec.features if check_value(feature, row[feature.name]) is not None)
    cell = row[feature.name]
    message = _not_a_value(feature, cell) if isinstance(cell, str) else None
    return None if message is None else f"{feature.name}: {message}"


def _not_a_value(feature: Feature, cell: str) -> str | None:
    if is_not_given(cell) if feature.bounds is not None else not cell:
        return NO_VALUE
    if feature.bounds is None:
        return None
    shown = "the value" if feature.pii else quoted(cell)
    if DECIMAL_COMMA.fullmatch(cell.strip()):
        return f"{shown} has a decimal comma: write a decimal point"
    return f"{shown} is not a number"


def _empty_labels(raw: RawTable, name: str) -> list[TableError]:
    if name not in raw.columns:
        raise TableError(raw.file, 1, name, "the label column is missing")
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
    for index, name in enumerate(header):
        if name in header[:index]:
            raise TableError(file, 1, name, "two columns have this name")


def _feature_values(raw: RawTable, feature: Feature) -> Iterator[Value]:
    if feature.name in raw.columns:
        return map(_reader(feature), raw.columns[feature.name])
    columns = columns_of(feature)
    missing = [column for column in columns if column not in raw.columns]
    if feature.type != "categorical" or len(missing) == len(columns):
        message = f"the column is missing{did_you_mean(feature.name, raw.columns)}"
        raise TableError(raw.file, 1, feature.name, message)
    if missing:
        raise TableError(raw.file, 1, missing[0], f"the column is missing (one-hot, feature {feature.name})")
    return _categories(raw, feature, columns)


def _reader(feature: Feature) -> Callable[[str], Value]:
    read: Callable[[str], Value] = str.strip
    if feature.bounds is not None:
        read = number if feature.type == "continuous" else _whole_number
    default = feature.missing
    if default is None:
        return read
    is_missing = is_not_given if feature.bounds is not None else _is_blank
    return lambda text: default if is_missing(text) else read(text)


def _is_blank(text: str) -> bool:
    return not text.strip()


def _whole_number(text: str) -> Value:
    value = number(text)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _categories(raw: RawTable, feature: Feature, columns: Sequence[str]) -> Iterator[Value]:
    categories = feature.categories or ()
    for line, *cells in zip(raw.lines, *(raw.columns[column] for column in columns), strict=True):
        if feature.missing is not None and all(map(_is_blank, cells)):
            yield feature.missing
            continue
        values = [number(cell) for cell in cells]
        if values.count(1) != 1 or values.count(0) != len(values) - 1:
            message = f"of the columns {', '.join(columns)} one must be 1, others 0"
            raise TableError(raw.file, line, feature.name, message)
        yield categories[values.index(1)]


def _labels(raw: RawTable, spec: ProgramSpec) -> NDArray[np.int64]:
    name, desired = spec.label.name, spec.label.desired
    cells = [cell.strip() for cell in raw.columns[name]]
    values: Sequence[Value] = cells if isinstance(desired, str) else [number(cell) for cell in cells]
    labels = np.fromiter((value == desired for value in values), dtype=np.int64, count=len(values))
    if not labels.any():
        raise TableError(raw.file, None, name, f"no row has the desired value {desired!r}")
    return labels
