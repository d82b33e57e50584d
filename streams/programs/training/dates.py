"""The dates of a data file's rows, by a column that is no feature."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ....schemas.draft.columns import Column
from ....schemas.draft.left_out import holds_dates
from ....schemas.normal_form import normal_form
from ....schemas.number_text import number
from ....schemas.problems import did_you_mean
from ....schemas.raw_table import read_csv
from ....schemas.spec import ProgramSpec
from ...errors import UsageError

YEARS = (1800, 2200)
UNIX_SECONDS = (1e8, 7.3e9)


def read_dates(csv: Path, column: str) -> NDArray[np.float64]:
    """When each row of a CSV was, (n,), as numbers that grow with time.

    Dates and times are read as ISO 8601, without a zone as UTC, such as 2026-01-31. Numbers are taken as they are where
    all are of one kind of date: years, 202601, 20260131 or Unix time. Raises ``UsageError`` for a column that is
    missing, and for the first cell that is no date; ``TableError`` where the file cannot be read.
    """
    raw = read_csv(csv)
    cells = raw.columns.get(normal_form(column))
    if cells is None:
        raise UsageError(f"--date-column: {csv} has no column {column!r}{did_you_mean(column, raw.columns)}")
    read = _reader(cells)
    dates = np.empty(len(cells))
    for row, (line, cell) in enumerate(zip(raw.lines, cells, strict=True)):
        try:
            dates[row] = read(cell.strip())
        except ValueError:
            raise UsageError(
                f"--date-column: {csv}:{line}: {column}: {cell!r} is no date: write dates as 2026-01-31, or all "
                f"as years from {YEARS[0]} to {YEARS[1]}, as 202601, as 20260131 or as Unix time"
            ) from None
    return dates


def date_columns(csv: Path, spec: ProgramSpec) -> list[str]:
    """The columns of a CSV that are no features and have a date in each row. Raises ``TableError``."""
    used = {name for feature in spec.features for name in (feature.name, *(feature.one_hot or ()))}
    columns = (
        Column(name, tuple(map(str.strip, cells)))
        for name, cells in read_csv(csv).columns.items()
        if name not in used and name != spec.label.name
    )
    return [column.name for column in columns if column.given.all() and holds_dates(column) and _are_read(column)]


def _reader(cells: Sequence[str]) -> Callable[[str], float]:
    """What reads the dates of a column: of numbers all have to be of the first one's kind."""
    numbers = [number(cell) for cell in cells]
    if any(isinstance(value, str) for value in numbers):
        return _moment
    first = float(numbers[0])
    is_date = next((is_date for is_date in (_is_year, _is_month, _is_day, _is_unix_time) if is_date(first)), None)

    def read(text: str) -> float:
        value = float(text)
        if is_date is None or not is_date(value):
            raise ValueError(text)
        return value

    return read


def _are_read(column: Column) -> bool:
    """Whether a column that holds dates is one of texts, or of numbers that are read as dates."""
    if column.numbers is None:
        return True
    read = _reader(column.cells)
    try:
        return all(math.isfinite(read(cell)) for cell in column.cells)
    except ValueError:
        return False


def _is_year(value: float) -> bool:
    return YEARS[0] <= value <= YEARS[1]


def _is_month(value: float) -> bool:
    return value.is_integer() and _is_year(value // 100) and 1 <= value % 100 <= 12


def _is_day(value: float) -> bool:
    return value.is_integer() and _is_month(value // 100) and 1 <= value % 100 <= 31


def _is_unix_time(value: float) -> bool:
    """Whether a number is a time from 1973 to 2200 in seconds, milliseconds, microseconds or nanoseconds."""
    return any(UNIX_SECONDS[0] <= value / unit <= UNIX_SECONDS[1] for unit in (1.0, 1e3, 1e6, 1e9))


def _moment(text: str) -> float:
    """A date or a time as seconds."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
