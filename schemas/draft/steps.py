"""The smallest change of a number: a round number, about a hundredth of the range, never below the data's own."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from itertools import pairwise

import numpy as np

from .columns import Column

STEPS_IN_A_RANGE = 100
OUTERMOST = (0.01, 0.99)
"""The range is taken between these quantiles: a single large value must not make every step large."""
MOST_DECIMALS = 12
SMALLEST_RANGE = 1e-9


def step_of(column: Column) -> float | None:
    """The step of a column of numbers; None where 1 is right for whole numbers, and where no step can be told."""
    low, high = float(column.values.min()), float(column.values.max())
    if high - low < SMALLEST_RANGE:
        return None
    least, most = np.quantile(column.values, OUTERMOST).tolist()
    width: float = most - least
    if width < SMALLEST_RANGE:
        width = high - low
    step = max(_round_number(width / STEPS_IN_A_RANGE), _granularity(column))
    if column.is_whole:
        step = float(max(1, round(step)))
        return None if step == 1 else min(step, high - low)
    return min(step, high - low)


def _round_number(size: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten."""
    exponent = math.floor(math.log10(size))
    choices = [float(f"{digit}e{power}") for power in (exponent, exponent + 1) for digit in (1, 2, 5)]
    return min(choices, key=lambda number: abs(number - size))


def _granularity(column: Column) -> float:
    """The largest number of which all differences between values are multiples; 0 for numbers of many decimals."""
    try:
        exact = sorted({Decimal(text) for text in column.texts})
    except InvalidOperation:  # an exponent beyond all
        return 0.0
    exponents = [int(value.as_tuple().exponent) for value in exact]
    decimals = -min(exponents)
    if decimals > MOST_DECIMALS or max(exponents) > MOST_DECIMALS:
        return 0.0
    units = [int(value.scaleb(max(decimals, 0))) for value in exact]
    common = math.gcd(*(high - low for low, high in pairwise(units)))
    return float(Decimal(common).scaleb(-max(decimals, 0)))
