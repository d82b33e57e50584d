"""The bounds of a number: those of the data, rounded outwards."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from .columns import is_scalable

UNITS_IN_A_RANGE = 10
DIGITS = (5, 2, 1)


def outward(low: float, high: float, *, is_whole: bool) -> tuple[float, float]:
    """Round numbers at or beyond the least and the largest value: somebody may have a little more than all others.

    They are multiples of 1, 2 or 5 times a power of ten, of which ten or more fit between the values. So 0 stays 0, and
    100 stays 100. None is 0 that is not among the values: a loan of nothing is no small loan.

    Examples
    --------
    >>> outward(812, 9431, is_whole=True), outward(0, 9, is_whole=True), outward(0.07, 0.93, is_whole=False)
    ((500, 9500), (0, 9), (0.05, 0.95))
    >>> outward(1250, 79500, is_whole=True)
    (1000, 80000)
    """
    # Exact: floats would round some bounds inwards.
    least, most = Decimal(repr(low)), Decimal(repr(high))
    width = (most - least) / UNITS_IN_A_RANGE
    if width <= 0:
        return low, high
    unit = next(Decimal(digit).scaleb(width.adjusted()) for digit in DIGITS if digit <= width.scaleb(-width.adjusted()))
    if is_whole:
        unit = max(unit, Decimal(1))
    below = float(_rounded(least, unit, ROUND_FLOOR))
    above = float(_rounded(most, unit, ROUND_CEILING))
    return (below if is_scalable(below) else low), (above if is_scalable(above) else high)


def _rounded(value: Decimal, unit: Decimal, rounding: str) -> Decimal:
    """A multiple of the unit; where that is 0 and the value is not, one of its first digit."""
    found = (value / unit).to_integral_value(rounding) * unit
    if found or not value:
        return found
    digit = Decimal(1).scaleb(value.adjusted())
    return (value / digit).to_integral_value(rounding) * digit
