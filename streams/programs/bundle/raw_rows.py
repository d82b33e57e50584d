"""Raw rows as CSV: the same values, type for type, when read again."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping

from ....schemas.events import Value
from ....schemas.spec import FeatureType

_WHOLE = re.compile(r"-?\d+")


def write_rows(rows: Iterable[Mapping[str, Value]], types: Mapping[str, FeatureType]) -> bytes:
    """Rows as UTF-8 CSV with a header, columns in the order of ``types``."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(types)
    for row in rows:
        writer.writerow([_cell(row[name], kind) for name, kind in types.items()])
    return text.getvalue().encode()


def read_rows(content: bytes, types: Mapping[str, FeatureType]) -> list[dict[str, Value]]:
    """The rows of a CSV whose header is exactly the names of ``types``, in order.

    Cells of ``continuous`` features become floats, or ints where they are written without a point; of ``integer`` ints;
    of other types texts. Raises ValueError with the first line that is wrong.
    """
    lines = csv.reader(io.StringIO(content.decode(), newline=""), strict=True)
    names = list(types)
    readers = [_READERS.get(types[name], str) for name in names]
    try:
        header = next(lines, [])
        if header != names:
            raise ValueError(f"columns are {', '.join(header)}, not {', '.join(names)}")
        return [{name: read(cell) for name, read, cell in zip(names, readers, line, strict=True)} for line in lines]
    except (ValueError, csv.Error) as error:
        raise ValueError(f"line {lines.line_num}: {error}") from None


def _cell(value: Value, kind: FeatureType) -> str:
    if isinstance(value, str):
        return value
    # repr is the shortest text that reads back as the same float.
    return repr(int(value) if kind == "integer" else value)


def _number(cell: str) -> int | float:
    if _WHOLE.fullmatch(cell):
        return int(cell)
    number = float(cell)
    if not math.isfinite(number):
        raise ValueError(f"{cell!r} is not a finite number")
    return number


_READERS: Mapping[FeatureType, Callable[[str], Value]] = {"continuous": _number, "integer": int}
