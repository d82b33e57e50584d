"""Cells that cannot be meant as they stand: a draft refuses them in a named line, since no type would be right."""

from __future__ import annotations

from collections.abc import Iterator

from ..feature_check import quoted
from ..number_text import first_dotted, not_a_number, number
from ..raw_table import RawTable, TableError
from .codes import codes_of
from .columns import Column


def mistakes(raw: RawTable, column: Column) -> Iterator[TableError]:
    """The cells of a column of numbers that are none, and the first one that may be two different numbers."""
    for row in column.strays:
        cell = column.cells[row]
        fault = not_a_number(cell) if isinstance(number(cell), str) else "is not finite"
        advice = "correct it, or leave the cell empty where nobody knows the number"
        message = f"{quoted(cell)} {fault}, among numbers: {advice}"
        yield TableError(raw.file, raw.lines[row], column.name, message)
    dotted = None if column.numbers is None else first_dotted(column.cells, codes_of(column))
    if dotted is not None:
        cell = column.cells[dotted]
        yield TableError(raw.file, raw.lines[dotted], column.name, f"{quoted(cell)} {not_a_number(cell)}")


def spellings(column: Column) -> list[tuple[str, ...]]:
    """The texts of a column that look the same: they differ in capitals, spaces and signs alone.

    Examples
    --------
    >>> spellings(Column("job", ("clerk", "CLERK", "self-employed", "self employed", "nurse")))
    [('CLERK', 'clerk'), ('self employed', 'self-employed')]
    """
    if column.numbers is not None or column.bands:
        return []
    alike: dict[str, list[str]] = {}
    for text in sorted(set(column.texts)):
        plain = "".join(character for character in text.casefold() if character.isalnum())
        alike.setdefault(plain or text, []).append(text)
    return [tuple(texts) for texts in alike.values() if len(texts) > 1]
