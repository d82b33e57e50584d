"""The dates of a data file's rows, by a column that is no feature."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ....schemas.draft.columns import Column
from ....schemas.draft.left_out import holds_dates
from ....schemas.normal_form import normal_form
from ....schemas.problems import did_you_mean
from ....schemas.spec import ProgramSpec
from ....schemas.table import number, read_csv
from ...errors import UsageError


def read_dates(csv: Path, column: str) -> NDArray[np.float64]:
    """When each row of a CSV was, (n,), as numbers that grow with time.

    Dates and times are read as ISO 8601, without a zone as UTC, such as 2026-01-31. A column of numbers, such as years
    or 20260131, is taken as it is. Raises ``UsageError`` for a column that is missing, and for the first cell that is
    neither; ``TableError`` where the file cannot be read.
    """
    raw = read_csv(csv)
    cells = raw.columns.get(normal_form(column))
    if cells is None:
        raise UsageError(f"--date-column: {csv} has no column {column!r}{did_you_mean(column, raw.columns)}")
    read = _number if all(not isinstance(number(cell), str) for cell in cells) else _moment
    dates = np.empty(len(cells))
    for row, (line, cell) in enumerate(zip(raw.lines, cells, strict=True)):
        try:
            dates[row] = read(cell.strip())
        except ValueError:
            raise UsageError(
                f"--date-column: {csv}:{line}: {column}: {cell!r} is no date: write dates as 2026-01-31, or as "
                "numbers that grow with time, in each row"
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
    return [column.name for column in columns if column.given.all() and holds_dates(column)]


def _number(text: str) -> float:
    value = float(text)
    if not np.isfinite(value):
        raise ValueError(text)
    return value


def _moment(text: str) -> float:
    """A date or a time as seconds."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
