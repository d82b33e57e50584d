"""The columns of a data file as a draft looks at them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..not_given import is_not_given, is_not_given_among_texts
from ..number_text import number
from ..raw_table import RawTable
from .bands import bands_of
from .ladders import levels_of
from .names import words_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

MOST_STRAYS = 0.1
"""Share of cells up to which texts among numbers are mistakes, and no categories."""
MOST_BANDS = 50
LARGEST_EXACT = 2**53


@dataclass(frozen=True)
class Column:
    """One column. ``cells`` (n) are without spaces around them. ``codes`` are numbers that stand for "no value".

    ``others`` are the cells of rows without a label, where these say what people are like.
    """

    name: str
    cells: tuple[str, ...]
    codes: tuple[int, ...] = ()
    others: tuple[str, ...] = ()

    def without_codes(self, codes: Iterable[int]) -> Column:
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
        return np.array([not is_not_given_among_texts(cell) for cell in self.cells])

    @cached_property
    def texts(self) -> list[str]:
        """The cells that have a value."""
        return [cell for cell, given in zip(self.cells, self.given, strict=True) if given]

    @cached_property
    def values(self) -> Floats:
        """The numbers that are given; none for a column of texts."""
        return np.zeros(0) if self.numbers is None else self.numbers[self.given]

    @cached_property
    def levels(self) -> list[str] | None:
        """The different texts in their order, where they have one."""
        return None if self.numbers is not None else levels_of(self.texts)

    @cached_property
    def bands(self) -> bool:
        """Whether its texts are bands of numbers, which mean what the numbers would."""
        return self.numbers is None and bands_of(self.texts) is not None

    @cached_property
    def ranks(self) -> Floats:
        """The numbers that are given, or the ranks of texts that have an order; none of other texts."""
        if self.levels is None:
            return self.values
        rank = {text: float(number) for number, text in enumerate(self.levels)}
        return np.array([rank[text] for text in self.texts])

    @cached_property
    def strays(self) -> tuple[int, ...]:
        """The cells that are no finite numbers in a column of numbers, by their place; none in a column of texts.

        Nine in ten of the cells with a value are numbers in a column of numbers.
        """
        values = {cell: number(cell) for cell in set(self.cells) if not is_not_given(cell)}
        wrong = {
            cell for cell, value in values.items() if isinstance(value, str) or not math.isfinite(_as_float(value))
        }
        if not wrong or (len(values) <= MOST_BANDS and self.bands):
            return ()
        places = [index for index, cell in enumerate(self.cells) if cell in wrong]
        given = sum(cell in values for cell in self.cells)
        return () if len(places) > MOST_STRAYS * given else tuple(places)

    def without_strays(self) -> Column:
        """The column of numbers that it would be without its ``strays``."""
        strays = set(self.strays)
        return replace(self, cells=tuple(["" if index in strays else cell for index, cell in enumerate(self.cells)]))

    @cached_property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers."""
        return bool(len(self.values)) and bool(np.equal(self.values, np.floor(self.values)).all())


def columns_of_table(raw: RawTable, label: str, others: RawTable | None = None) -> dict[str, Column]:
    """The columns other than the label, by name, their codes not known yet; ``others`` are the rows without a label."""
    return {
        name: Column(
            name,
            tuple([cell.strip() for cell in cells]),
            others=() if others is None else tuple([cell.strip() for cell in others.columns[name]]),
        )
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
