"""Tables of figures. A column says how its values are written; a hyphen stands for one that there is not.

table("Ledgers", (*numbers("partition", "waiting"), words("event time")), [(3, 1200, None)])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import rich.table
from rich.markup import escape
from rich.table import Table

from ...printable import printable


class TableColumn(NamedTuple):
    """A column. Its numbers are written in a ``form``; text stands as it is, without orders to rich or a terminal."""

    form: str
    layout: rich.table.Column

    def text(self, value: float | str | None) -> str:
        """What a cell shows."""
        if value is None:
            return "-"
        return escape(printable(value)) if isinstance(value, str) else format(value, self.form)


def words(title: str, **layout: Any) -> TableColumn:
    """A column of text; ``layout`` is rich's."""
    return TableColumn("", rich.table.Column(title, **layout))


def name(title: str) -> TableColumn:
    """A column of names, which are folded where they are long."""
    return words(title, overflow="fold")


def numbers(*titles: str, form: str = ",") -> Iterable[TableColumn]:
    """Columns of numbers."""
    return (TableColumn(form, rich.table.Column(title, justify="right")) for title in titles)


def table(title: str | None, columns: Iterable[TableColumn], rows: Iterable[Sequence[float | str | None]]) -> Table:
    """A table with a row of values a row."""
    columns = list(columns)
    made = Table(*(column.layout for column in columns), title=title)
    for row in rows:
        made.add_row(*(column.text(value) for column, value in zip(columns, row, strict=True)))
    return made
