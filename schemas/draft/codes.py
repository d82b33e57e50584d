"""Numbers of a column that stand for "no value", such as -9, 98 or 999999: they stand apart from the amounts.

No list of known codes decides. A code recurs, is whole and not round, and lies farther from the amounts than these lie
from each other; or it is the only kind of number below 0, beside amounts that are large against it or go by steps that
never meet it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .columns import Column, Floats

Counts = NDArray[np.intp]

MOST = 10
"""Most codes on one side of the amounts. More are amounts themselves."""
FEWEST_AMOUNTS = 3
"""Different amounts without which nothing can stand apart."""
FEWEST_CELLS = 5
"""Cells that hold codes above the amounts, where their digits do not speak for it."""
RANGES_APART = 3.0
"""How far such codes are above the amounts: so many times what these differ."""
TIMES_BELOW = 3.0
"""Amounts that reach so many times as far as one or two numbers below 0 are no scale around 0."""
TIMES_BELOW_MORE = 10.0
"""The same of three or more numbers below 0, which could be the lower end of a scale."""
STEPS_APART = 3.0
"""How far a run of codes that ends in digits such as 99 is above the amounts: so many of their widest steps."""
ROUND = 10


def codes_of(column: Column) -> tuple[int, ...]:
    """The numbers of a column that seem to stand for "no value", from the least; none in a column of texts.

    They are what a draft writes as ``not_given``. ``Column.without_codes`` gives the column with these cells empty, of
    which bounds, steps and directions are to be made. 0 is never among them: it may be an amount, and often is.

    Examples
    --------
    >>> codes_of(Column("late_payments", ("0", "1", "2", "0", "98", "4", "98", "98", "96", "96")))
    (96, 98)
    >>> codes_of(Column("balance", ("0", "-35", "700", "-120", "90")))
    ()
    """
    distinct, counts = np.unique(column.values, return_counts=True)
    if not len(distinct) or not np.isfinite(distinct).all():
        return ()
    codes = [*_codes_below(distinct, counts), *_codes_above(distinct[distinct >= 0], counts[distinct >= 0])]
    return tuple(int(code) for code in codes)


def _codes_below(distinct: Floats, counts: Counts) -> list[float]:
    """The numbers below 0, where they are codes."""
    negative, amounts = distinct[distinct < 0], distinct[distinct >= 0]
    if not 0 < len(negative) <= MOST or len(amounts) < 2 or not _are_whole(negative):
        return []
    recurs = counts[: len(negative)] > 1
    codes = [
        _is_digit_repeated(-code) or (again and code % ROUND) for code, again in zip(negative, recurs, strict=True)
    ]
    if not all(codes):
        return []
    stands_apart = amounts[0] - negative[-1] > np.median(np.diff(amounts))
    times = TIMES_BELOW if len(negative) < FEWEST_AMOUNTS else TIMES_BELOW_MORE
    reaches_far = amounts[-1] >= times * -negative[0]
    found: list[float] = negative.tolist()
    return found if stands_apart or reaches_far or _are_between_steps(negative, amounts) else []


def _codes_above(distinct: Floats, counts: Counts) -> list[float]:
    """The largest numbers, as many of them as are codes; none of the numbers is below 0."""
    for number in range(min(MOST, len(distinct) - FEWEST_AMOUNTS), 0, -1):
        codes, amounts = distinct[-number:], distinct[:-number]
        recurring = counts[-number:]
        if not _are_whole(codes) or recurring.min() < 2:
            continue
        gap = codes[0] - amounts[-1]
        widest = np.diff(amounts).max()
        by_digits = all(_is_digit_repeated(code) and code > ROUND for code in codes) and gap > widest
        by_digits |= _is_run(codes) and gap > max(STEPS_APART * widest, number)
        is_far = gap > RANGES_APART * np.ptp(amounts) and recurring.sum() >= FEWEST_CELLS
        if by_digits or (is_far and np.all(codes % ROUND)):
            found: list[float] = codes.tolist()
            return found
    return []


def _are_between_steps(codes: Floats, amounts: Floats) -> bool:
    """Whether all amounts are multiples of a number of which no code is one."""
    if not _are_whole(amounts) or len(amounts) < FEWEST_AMOUNTS:
        return False
    step = math.gcd(*map(int, amounts))
    return bool(np.all(codes % step != 0))


def _is_run(codes: Floats) -> bool:
    """Whether codes count up to one digit again and again, such as 97, 98, 99."""
    return bool(np.all(np.diff(codes) == 1)) and codes[-1] > ROUND and _is_digit_repeated(codes[-1])


def _are_whole(numbers: Floats) -> bool:
    return bool(np.equal(numbers, np.floor(numbers)).all())


def _is_digit_repeated(code: float) -> bool:
    """Whether a number above 0 is one digit, or the same one again and again, such as 9, 88 or 666."""
    return len(set(str(int(code)))) == 1
