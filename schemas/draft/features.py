"""The features of a draft, one from each column that can be one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import names
from .columns import Column, Floats, Mask
from .directions import ANY, Direction, direction_of, fixed_by_name
from .ladders import levels_of
from .left_out import MOST_CODES
from .steps import step_of
from .yaml_text import flow_list, number_text, text

UNDECIDED = "can a person change it? `mutable: none` if not"
UNDECIDED_ORDERED = "can a person change it, and which way? `mutable: none` if not, up or down if only one"
"""What people must decide where nothing was guessed, for a feature without an order and with one."""

MOST_EARNED = "50%"
"""The most that a draft asks people to earn more."""
SLIGHTLY_MORE = 1.0 + 1e-9
"""Of a size, so that a digit that equals it is not missed by rounding."""
COUNTED = 20.0
"""Whole numbers of a smaller range are units that people count; every change of them is one that somebody can make."""


class DraftedFeature(NamedTuple):
    """A feature of the draft: its fields in YAML, its direction, what else was guessed, and whether it has an order."""

    fields: str
    direction: Direction
    guesses: tuple[str, ...] = ()
    is_ordered: bool = True
    amounts: Floats | None = None
    """Its numbers, (n,), the missing ones filled; None for texts and what seems to be a code."""

    def line(self) -> str:
        """The line of YAML; the comment says what was guessed, and what could not be and people must decide."""
        mutable, reason, is_personal = self.direction
        fields = self.fields + (f", mutable: {mutable}" if mutable != "any" else "")
        fields += ", pii: true, protected: true" if is_personal else ""
        guesses = "; ".join([*self.guesses, *([reason] if reason else [])])
        marks = [f"guess: {guesses}"] if guesses else []
        if mutable == "any" and not reason:
            marks.append(f"decide: {UNDECIDED_ORDERED if self.is_ordered else UNDECIDED}")
        comment = f"  # {'; '.join(marks)}" if marks else ""
        return f"  - {{{fields}}}{comment}\n"


def drafted(column: Column, desired: Mask) -> DraftedFeature:
    """The feature of a column that can be one."""
    if column.numbers is not None:
        return _number(column, desired)
    levels = levels_of(column.texts)
    kind = (
        f"ordinal, levels: {flow_list(levels)}"
        if levels
        else f"categorical, categories: {flow_list(sorted(set(column.texts)))}"
    )
    missing = text(_most_frequent(column)) if not column.given.all() else None
    guesses = (*(("this order",) if levels else ()), *_missing_guess(column))
    direction = direction_of(column, desired, is_ordered=levels is not None)
    return DraftedFeature(_fields(column.name, kind, missing), direction, guesses, is_ordered=levels is not None)


def drafted_one_hot(name: str, columns: Mapping[str, str]) -> DraftedFeature:
    """The categorical feature of one-hot columns, given with their categories."""
    values = f"categorical, categories: {flow_list(columns.values())}, one_hot: {flow_list(columns)}"
    return DraftedFeature(_fields(name, values), fixed_by_name(names.words_of(name)) or ANY, is_ordered=False)


def _number(column: Column, desired: Mask) -> DraftedFeature:
    low, high = column.values.min().item(), column.values.max().item()
    bounds = f"[{number_text(low)}, {number_text(high)}]"
    step = step_of(column)
    kind = f"{'integer' if column.is_whole else 'continuous'}, bounds: {bounds}"
    kind += f", step: {number_text(step)}" if step is not None else ""
    median = np.quantile(column.values, 0.5, method="lower").item()
    direction = direction_of(column, desired, is_ordered=True)
    code_guess = _code_guess(column, direction)
    guesses = (*_missing_guess(column), *code_guess)
    is_earned = direction.mutable == "up" and column.words & names.EARNED and high > 0
    if is_earned and low > 0:
        kind, guesses = f"{kind}, max_change: {MOST_EARNED}", (*guesses, "at most half as much again")
    elif is_earned:
        # A share of nothing is nothing: people who earn nothing could change nothing.
        half = _round_below(float(np.median(column.values[column.values > 0])) / 2)
        kind += f", max_change: {number_text(max(step or float(column.is_whole), half))}"
        guesses = (*guesses, "at most half of the median, as some have none")
    elif direction.mutable != "none" and high > low and not (column.is_whole and high - low < COUNTED):
        kind += f", max_change: {number_text(max(step or 0.0, _usual_difference(column.values, high - low)))}"
        guesses = (*guesses, "at most by what the middle half of people differ")
    missing = None if column.given.all() else number_text(median)
    amounts = None if code_guess or column.numbers is None else np.where(column.given, column.numbers, median)
    return DraftedFeature(_fields(column.name, kind, missing), direction, guesses, amounts=amounts)


def _fields(name: str, kind: str, missing: str | None = None) -> str:
    return f"name: {text(name)}, type: {kind}" + (f", missing: {missing}" if missing is not None else "")


def _missing_guess(column: Column) -> tuple[str, ...]:
    count = int((~column.given).sum())
    of = "median" if column.numbers is not None else "most frequent value"
    cells = "empty cell" if count == 1 else "empty cells"
    return (f"missing is the {of}, for {count} {cells}",) if count else ()


def _code_guess(column: Column, direction: Direction) -> tuple[str, ...]:
    distinct = len(np.unique(column.values))
    is_open = direction.mutable != "none" or names.is_housing(column.words)
    is_code = column.is_whole and 2 < distinct <= MOST_CODES and column.words & names.CODED and is_open
    return ("a number; if it is a code: type categorical, with the codes as texts",) if is_code else ()


def _usual_difference(values: NDArray[np.float64], width: float) -> float:
    """By how much the middle half of the values differ, of a range of ``width``, rounded down.

    Where these are equal, a quarter of the range stands for it.
    """
    low, high = np.quantile(values, [0.25, 0.75]).tolist()
    return _round_below((high - low) or width / 4.0)


def _round_below(size: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is at most this size."""
    power = 10.0 ** math.floor(math.log10(size))
    return max(digit * power for digit in (1.0, 2.0, 5.0) if digit * power <= size * SLIGHTLY_MORE)


def _most_frequent(column: Column) -> str:
    counts = Counter(column.texts)
    return min(counts, key=lambda value: (-counts[value], value))
