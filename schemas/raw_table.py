"""A CSV as text, before anybody asks what its cells mean."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path

from .normal_form import normal_form

Column = Sequence[str]
Lines = Sequence[int]

MOST_COLUMNS = 10_000
DELIMITERS = ",;\t|"
"""What may stand between cells."""
QUOTED = re.compile(r'"[^"]*("|$)')
NAMED_DELIMITER = re.compile(rf"sep=([{DELIMITERS}])\s*", re.IGNORECASE)
"""A first line by which Excel says what stands between cells."""


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


@dataclass(frozen=True)
class RawTable:
    """A CSV as text: the cells of each column by its name, and the line of the file each row ends in.

    ``uneven`` are the rows, by number from 0, that have not one cell for each column, with a message. ``typed`` names
    the columns whose cells come from values of a program, not from text that somebody has written.
    """

    file: Path
    columns: Mapping[str, Column]
    lines: Lines
    uneven: Mapping[int, str] = field(default_factory=dict)
    typed: Set[str] = frozenset()

    def only(self, chosen: Iterable[bool]) -> RawTable:
        """Some of the rows."""
        kept = list(chosen)
        columns = {name: tuple(compress(cells, kept)) for name, cells in self.columns.items()}
        numbers = [number for number, is_kept in enumerate(kept) if is_kept]
        uneven = {new: self.uneven[old] for new, old in enumerate(numbers) if old in self.uneven}
        return replace(self, columns=columns, lines=list(compress(self.lines, kept)), uneven=uneven)


def read_csv(path: str | Path, *, uneven: bool = False) -> RawTable:
    """A CSV with a header line, in UTF-8 with or without a byte order mark. Raises ``TableError``.

    Semicolons, tabs or vertical bars may stand in for the commas. Its texts are brought into Unicode's normal form C.
    A row of too many or too few cells is an error, unless ``uneven`` rows are to be kept in the table.
    """
    file = Path(path)
    try:
        delimiter, skipped = _delimiter(file)
        with file.open(encoding="utf-8-sig", newline="") as stream:
            for _ in range(skipped):
                stream.readline()
            reader = csv.reader(map(normal_form, stream), strict=True, delimiter=delimiter)
            header = [name.strip() for name in next(reader, [])]
            _check_header(file, header, skipped + 1)
            lines: list[int] = []
            rows: list[list[str]] = []
            wrong: dict[int, str] = {}
            for row in reader:
                if not row:
                    continue
                lines.append(reader.line_num + skipped)
                if len(row) != len(header):
                    wrong[len(rows)] = f"{len(row)} cells for {len(header)} columns"
                    if not uneven:
                        raise TableError(file, lines[-1], None, wrong[len(rows)])
                rows.append([*row, *[""] * len(header)][: len(header)])
    except OSError as error:
        raise TableError(file, None, None, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TableError(file, None, None, "not UTF-8 text: save it as CSV in UTF-8") from None
    except csv.Error as error:
        raise TableError(file, reader.line_num + skipped, None, f"not CSV: {error}") from None
    if not rows:
        raise TableError(file, None, None, "no rows below the header")
    return RawTable(file, dict(zip(header, zip(*rows, strict=True), strict=True)), lines, wrong)


def _delimiter(file: Path) -> tuple[str, int]:
    """The delimiter of a file, and how many lines stand before its header.

    It is the one by which the most rows have as many cells as the header; of several such the one of the most columns.
    ``csv.Sniffer`` takes letters and decimal commas for delimiters.
    """
    with file.open(encoding="utf-8-sig", newline="") as stream:
        first = stream.readline()
    if named := NAMED_DELIMITER.fullmatch(first):
        return named[1], 1
    names = QUOTED.sub("", first)
    possible = [delimiter for delimiter in DELIMITERS if delimiter in names]
    if len(possible) < 2:
        return (possible or DELIMITERS)[0], 0
    return min(possible, key=lambda delimiter: _misfit(file, delimiter)), 0


def _misfit(file: Path, delimiter: str) -> tuple[float, int]:
    """How many rows have not as many cells as the header by a delimiter, and the number of columns, negative."""
    columns, uneven = 0, 0.0
    with file.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True, delimiter=delimiter)
        try:
            columns = len(next(reader, []))
            uneven = sum(len(row) != columns for row in reader if row)
        except csv.Error:
            uneven = float("inf")
    return uneven, -columns


def _check_header(file: Path, header: Sequence[str], line: int) -> None:
    if not header:
        raise TableError(file, None, None, "the file is empty")
    if len(header) > MOST_COLUMNS:
        raise TableError(file, line, None, f"{len(header):,} columns, {MOST_COLUMNS:,} at most: keep those that matter")
    seen = set[str]()
    for name in header:
        if name in seen:
            raise TableError(file, line, name, "two columns have this name")
        seen.add(name)
