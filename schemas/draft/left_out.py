"""Which columns are no features, and why: identifiers, dates, copies of the label, columns that hold too little."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..not_given import is_not_given
from ..number_text import number
from .association import is_leak
from .columns import Column, Mask, is_scalable
from .names import BAD_NAME, CALENDAR_YEAR, CODE, DATE, IDENTIFIER, is_name

MAX_CATEGORIES = 50
MOST_MISSING = 0.2
"""Share of cells without a value up to which a column is kept."""
FEWEST_ROWS = 20
"""Of fewer rows nobody can say that each has a value of its own."""
ALMOST_ALL = 0.95
MOST_CODES = 20
EXPECTED_TWICE = 10.0
"""Pairs of rows that would share a number, were they drawn evenly from its range: by chance none does once in 20,000
columns."""
MAX_SHOWN = 20
MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
DATE_TEXT = re.compile(
    r"(\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|"
    rf"(\d{{1,2}}[- ])?{MONTH}[- ]\d{{2,4}})"
    r"([T ]\d{1,2}:.*)?",
    re.IGNORECASE,
)
NUMBER_TEXT = re.compile(r"[€$£¥]?\s*[-+]?\d[\d\s.,']*[€$£¥%]?")
"""A number with something around it or within: 45%, 1,200, $ 30."""
YEARS = (1900, 2100)
IS_LEAK = "it alone tells the label: probably known only afterwards, or a copy of it"


def reason_to_leave_out(column: Column, labels: Sequence[Mask]) -> str | None:
    """Why a column cannot be a feature; None when it can.

    ``labels`` (n,) each say which rows have a value of the label that may be the desired one.
    """
    checks: tuple[Callable[[Column], str | None], ...] = (
        _unreadable,
        _empty,
        _beyond_scale,
        lambda column: IS_LEAK if any(is_leak(column, label) for label in labels) else None,
        _date,
        _identifier,
        _numbers_as_texts,
        _many_texts,
    )
    return next((reason for check in checks if (reason := check(column)) is not None), None)


def reason_to_leave_out_one_hot(members: Iterable[Column], labels: Sequence[Mask]) -> str | None:
    """Why the one-hot columns of a feature cannot be one; None when they can."""
    return IS_LEAK if any(is_leak(member, label) for member in members for label in labels) else None


def _unreadable(column: Column) -> str | None:
    if not is_name(column.name):
        return BAD_NAME
    if column.numbers is None and not all(map(str.isprintable, column.texts)):
        return "it holds characters that cannot be printed"
    return None


def _empty(column: Column) -> str | None:
    missing, rows = int((~column.given).sum()), len(column.cells)
    if missing == rows:
        return "no cell has a value"
    if missing > MOST_MISSING * rows:
        return f"{missing} of {rows} cells have no value"
    if len(set(column.texts)) == 1 or (len(column.values) and column.values.min() == column.values.max()):
        return "it has one value only"
    return None


def _beyond_scale(column: Column) -> str | None:
    return None if all(map(is_scalable, column.values.tolist())) else "numbers beyond what can be scaled"


def _date(column: Column) -> str | None:
    message = "it holds dates: a feature would be a time that has passed, such as an age"
    return message if holds_dates(column) else None


def holds_dates(column: Column) -> bool:
    """Whether a column in which some cell has a value reads as dates, times or calendar years."""
    if column.numbers is None:
        known = _known_texts(column)
        return bool(known) and all(map(DATE_TEXT.fullmatch, known))
    low, high = column.values.min(), column.values.max()
    is_year = column.is_whole and YEARS[0] <= low and high <= YEARS[1]
    named = column.words & DATE or (is_year and column.words & CALENDAR_YEAR)
    return bool(named) or (column.is_whole and _has_days(column))


def _has_days(column: Column) -> bool:
    """Whether the numbers read as YYYYMMDD."""
    years, rest = np.divmod(column.values, 10_000)
    months, days = np.divmod(rest, 100)
    parts = ((years, *YEARS), (months, 1, 12), (days, 1, 31))
    return all(bool(((low <= part) & (part <= high)).all()) for part, low, high in parts)


def reason_against_rows(column: Column) -> str | None:
    """Why the values of a column stand for single rows or moments, and not for what people are like; None else."""
    checks = (_date, _identifier, _given_once, _many_texts)
    return next((reason for check in checks if (reason := check(column)) is not None), None)


def _identifier(column: Column) -> str | None:
    distinct, rows = len(set(column.texts)), len(column.texts)
    is_unique = rows >= FEWEST_ROWS and distinct >= ALMOST_ALL * rows
    if column.numbers is None:
        if _has_numbers(column) and not column.words & IDENTIFIER:
            return None
        return "almost every row has a text of its own" if is_unique else None
    if not column.is_whole:
        return None
    if is_unique and (column.words & IDENTIFIER or _is_counter(column)):
        return "it numbers the rows: an identifier"
    if column.words & CODE and distinct > MOST_CODES:
        return "it holds codes, whose size means nothing"
    return None


def _given_once(column: Column) -> str | None:
    """Numbers of which none is given twice, though many would be by chance."""
    rows = len(column.values)
    if not column.is_whole or len(np.unique(column.values)) < rows:
        return None
    expected = rows * (rows - 1) / 2.0 / (np.ptp(column.values) + 1.0)
    return "every row has a number of its own: an identifier" if expected >= EXPECTED_TWICE else None


def _is_counter(column: Column) -> bool:
    """Whether the rows count up or down, or are numbered without gaps."""
    steps = np.diff(column.values)
    spread = column.values.max() - column.values.min() + 1
    return bool((steps > 0).all() or (steps < 0).all() or spread == len(np.unique(column.values)))


def _numbers_as_texts(column: Column) -> str | None:
    if not _has_numbers(column):
        return None
    example = next(text for text in _known_texts(column) if isinstance(number(text), str))
    return f"numbers with other characters, such as {example[:MAX_SHOWN]!r}: write plain numbers, such as 1200.5"


def _has_numbers(column: Column) -> bool:
    """Whether a column of texts holds numbers with other characters."""
    known = _known_texts(column)
    return bool(known) and all(NUMBER_TEXT.fullmatch(text) for text in known)


def _many_texts(column: Column) -> str | None:
    distinct = len(set(column.texts))
    if column.numbers is not None or distinct <= MAX_CATEGORIES:
        return None
    return f"{distinct} different texts"


def _known_texts(column: Column) -> list[str]:
    """The cells of a column of texts that hold more than a sign for an absent value."""
    return [] if column.numbers is not None else [text for text in column.texts if not is_not_given(text)]
