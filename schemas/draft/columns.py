"""The columns of a data file as a draft looks at them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..not_given import is_not_given
from ..number_text import number
from ..raw_table import RawTable
from .names import is_name, words_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

LARGEST_EXACT = 2**53


@dataclass(frozen=True)
class Column:
    """One column. ``cells`` (n) are without spaces around them. ``codes`` are numbers that stand for "no value"."""

    name: str
    cells: tuple[str, ...]
    codes: tuple[int, ...] = ()

    def without(self, codes: Iterable[int]) -> Column:
        """The column with every cell that holds one of these numbers read as one without a value."""
        return replace(self, codes=tuple(codes))

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its name."""
        return words_of(self.name)

    @cached_property
    def numbers(self) -> Floats | None:
        """The cells as numbers, (n,), NaN for one without a value. None for a column of texts."""
        values = [math.nan if is_not_given(cell) else number(cell) for cell in self.cells]
        numbers = [_as_float(value) for value in values if not isinstance(value, str)]
        if len(numbers) < len(values) or np.isnan(numbers).all():
            return None
        found = np.array(numbers)
        return np.where(np.isin(found, self.codes), np.nan, found) if self.codes else found

    @cached_property
    def given(self) -> Mask:
        """Whether each cell has a value, (n,)."""
        if self.numbers is not None:
            return ~np.isnan(self.numbers)
        if all(map(is_not_given, self.cells)):
            return np.zeros(len(self.cells), dtype=bool)
        return np.array([bool(cell) for cell in self.cells])

    @cached_property
    def texts(self) -> list[str]:
        """The cells that have a value."""
        return [cell for cell, given in zip(self.cells, self.given, strict=True) if given]

    @cached_property
    def values(self) -> Floats:
        """The numbers that are given; none for a column of texts."""
        return np.zeros(0) if self.numbers is None else self.numbers[self.given]

    @cached_property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers."""
        return bool(len(self.values)) and bool(np.equal(self.values, np.floor(self.values)).all())


def columns_of_table(raw: RawTable, label: str) -> dict[str, Column]:
    """The columns other than the label, by name."""
    return {
        name: Column(name, tuple([cell.strip() for cell in cells]))
        for name, cells in raw.columns.items()
        if name != label
    }


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def is_scalable(value: float) -> bool:
    """Whether a number can be a bound of a feature."""
    return abs(value) <= LARGEST_EXACT and math.isfinite(value)


def one_hot_groups(raw: RawTable, label: str) -> dict[str, dict[str, str]]:
    """The one-hot features of a file: name -> its columns with their categories.

    Columns ``NAME:CATEGORY`` are one feature when exactly one of them is 1 in every row and the others are 0.
    """
    groups: dict[str, dict[str, str]] = {}
    for column in raw.columns:
        name, _, category = column.partition(":")
        is_free = column != label and name not in raw.columns
        if category.isprintable() and category and is_name(name) and is_free:
            groups.setdefault(name, {})[column] = category
    return {name: columns for name, columns in groups.items() if len(columns) > 1 and _is_one_hot(raw, columns)}


def _is_one_hot(raw: RawTable, columns: Iterable[str]) -> bool:
    rows = zip(*([number(cell) for cell in raw.columns[column]] for column in columns), strict=True)
    return all(row.count(1) == 1 and row.count(0) == len(row) - 1 for row in rows)
