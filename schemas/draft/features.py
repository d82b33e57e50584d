"""The features of a draft, one from each column that can be one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import names
from .bounds import outward
from .codes import codes_of
from .columns import Column, Floats
from .evidence import spread
from .left_out import MOST_CODES
from .mistakes import spellings
from .mutable import Direction, decided
from .questions import DraftDecisions
from .steps import step_of
from .yaml_text import flow_list, number_text, text

MAY_BE_CODES = "type categorical if these are codes, which are texts then"
MOST_EARNED = "50%"
"""The most that a draft asks people to earn more."""
SLIGHTLY_MORE = 1.0 + 1e-9
"""Of a size, so that a digit that equals it is not missed by rounding."""
COUNTED = 20.0
"""Whole numbers of a smaller range are units that people count; every change of them is one that somebody can make."""


class DraftedFeature(NamedTuple):
    """A feature of the draft: its fields in YAML, its direction, what else was guessed, and its numbers."""

    fields: str
    direction: Direction
    guesses: tuple[str, ...] = ()
    amounts: Floats | None = None
    """Its numbers, (n,), the missing ones filled; None for texts and what seems to be a code."""
    limit: str = ""
    """The field of the most that people are asked to change it, and what was guessed there."""
    limit_guess: tuple[str, ...] = ()

    def following(self, parent: str) -> DraftedFeature:
        """The same feature where nobody changes it by itself, as it follows another."""
        direction = Direction("follows", f"moves with {parent}")
        return self._replace(direction=direction, limit="", limit_guess=())

    def line(self, *, said: bool = True) -> str:
        """The line of YAML; the comment says what was guessed, or what the column holds where nobody has decided."""
        mutable, reason, is_personal, is_undecided, *_ = self.direction
        fields = f"{self.fields}{self.limit}, mutable: {mutable}" + (
            ", pii: true, protected: true" if is_personal else ""
        )
        guesses = "; ".join([*self.guesses, *self.limit_guess, *([] if is_undecided else [reason])])
        marks = [*([f"guess: {guesses}"] if guesses else []), *([f"undecided: {reason}"] if is_undecided else [])]
        return f"  - {{{fields}}}" + (f"  # {'; '.join(marks)}" if said else "") + "\n"


def drafted(column: Column, guess: Direction, decisions: DraftDecisions) -> DraftedFeature:
    """The feature of a column that can be one."""
    seen = spread(column)
    if column.numbers is not None:
        seen += f"; {MAY_BE_CODES}" if _has_few_values(column) else ""
        return _number(column, decided(guess, column.name, seen, decisions, is_ordered=True))
    levels = column.levels
    kind = (
        f"ordinal, levels: {flow_list(levels)}"
        if levels
        else f"categorical, categories: {flow_list(sorted(set(column.texts)))}"
    )
    missing = text(_most_frequent(column)) if not column.given.all() else None
    guesses = (*(("this order",) if levels else ()), *_missing_guess(column), *_alike(column))
    direction = decided(guess, column.name, seen, decisions, is_ordered=levels is not None)
    if column.bands and direction.mutable != "none":
        kind, guesses = f"{kind}, max_change: 1", (*guesses, "at most by one band")
    return DraftedFeature(_fields(column.name, kind, missing), direction, guesses)


def drafted_one_hot(
    name: str, columns: Mapping[str, str], unnamed: str | None, guess: Direction, decisions: DraftDecisions
) -> DraftedFeature:
    """The categorical feature of one-hot columns, given with their categories; ``unnamed`` is one without a column."""
    categories = [*([] if unnamed is None else [unnamed]), *columns.values()]
    values = f"categorical, categories: {flow_list(categories)}, one_hot: {flow_list(columns)}"
    seen = f"{len(columns)} columns, of which {'one' if unnamed is None else 'at most one'} is 1 in every row"
    return DraftedFeature(_fields(name, values), decided(guess, name, seen, decisions, is_ordered=False))


def _number(column: Column, direction: Direction) -> DraftedFeature:
    low, high = _reach(column)
    bounds = ", ".join(map(number_text, outward(low, high, is_whole=column.is_whole)))
    step = step_of(column)
    kind = f"{'integer' if column.is_whole else 'continuous'}, bounds: [{bounds}]"
    kind += f", step: {number_text(step)}" if step is not None else ""
    median = np.quantile(column.values, 0.5, method="lower").item()
    meaning = names.meaning_of(column.name)
    is_earned = direction.mutable == "up" and meaning is not None and meaning.subject.is_earned and high > 0
    limit, limit_guess = "", tuple[str, ...]()
    if is_earned and low > 0:
        limit, limit_guess = MOST_EARNED, ("at most half as much again",)
    elif is_earned:
        # A share of nothing is nothing: people who earn nothing could change nothing.
        half = _round_below(float(np.median(column.values[column.values > 0])) / 2)
        limit = number_text(max(step or float(column.is_whole), half))
        limit_guess = ("at most half of the median, as some have none",)
    elif direction.mutable != "none" and high > low and not (column.is_whole and high - low < COUNTED):
        limit = number_text(max(step or 0.0, _usual_difference(column.values, high - low)))
        limit_guess = ("at most by what the middle half of people differ",)
    missing = None if column.given.all() else number_text(median)
    is_code = _has_few_values(column) and column.words & names.CODED
    amounts = None if is_code or column.numbers is None else np.where(column.given, column.numbers, median)
    limit = f", max_change: {limit}" if limit else ""
    fields = _fields(column.name, kind, missing, column.codes)
    return DraftedFeature(fields, direction, _missing_guess(column), amounts, limit, limit_guess)


def _reach(column: Column) -> tuple[float, float]:
    """The least and the largest number, of people with and without a label.

    Of those without one a number counts that is no farther from the others' than these from each other, and no code: a
    row that is left out is no mistake that anybody must mend.
    """
    low, high = column.values.min().item(), column.values.max().item()
    whole = replace(column, cells=column.cells + column.others, others=()).without_strays()
    if not column.others or whole.numbers is None:
        return low, high
    values = whole.without_codes({*column.codes, *codes_of(whole)}).values
    near = values[(values >= low - (high - low)) & (values <= high + (high - low))]
    return min(low, near.min().item()), max(high, near.max().item())


def _fields(name: str, kind: str, missing: str | None = None, codes: Sequence[int] = ()) -> str:
    fields = f"name: {text(name)}, type: {kind}" + (f", missing: {missing}" if missing is not None else "")
    return fields + (f", not_given: [{', '.join(map(str, codes))}]" if codes else "")


def _missing_guess(column: Column) -> tuple[str, ...]:
    count = int((~column.given).sum())
    of = "median" if column.numbers is not None else "most frequent value"
    cells = "cell without a value" if count == 1 else "cells without a value"
    return (f"missing is the {of}, for {count} {cells}",) if count else ()


def _alike(column: Column) -> Iterator[str]:
    """What is said of categories that may be one, written in several ways."""
    for texts in spellings(column):
        yield f"{', '.join(map(repr, texts))} look the same: write them in one way"


def _has_few_values(column: Column) -> bool:
    """Whether a column of whole numbers has so few that they may be codes."""
    return column.is_whole and 2 < len(np.unique(column.values)) <= MOST_CODES


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
