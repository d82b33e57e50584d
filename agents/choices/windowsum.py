"""The sum of the last m numbers, in constant time and exactly rounded."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

_SCALE_BITS = 1074
"""Every finite double is a whole multiple of 2^-1074."""
_ONE = 1 << _SCALE_BITS
SHORT = 64
"""So many numbers are summed anew sooner than a total of them is kept."""


class WindowSum:
    """The last ``window`` numbers and their sum, correctly rounded: ``math.fsum`` of them, whatever came before.

    Floating-point running sums drift with what was added and taken away again; this one is kept as a whole number.

    Parameters
    ----------
    numbers
        As many finite numbers as are kept, from the oldest on.

    Examples
    --------
    >>> last = WindowSum([0.0, 0.0])
    >>> for number in (1e16, 1.0, 0.5):
    ...     last.push(number)
    >>> last.value
    1.5
    """

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers = deque(map(float, numbers), maxlen=len(numbers))
        self._total = None if len(numbers) <= SHORT else sum(map(_whole, self._numbers))

    @property
    def numbers(self) -> list[float]:
        """The numbers, from the oldest on."""
        return list(self._numbers)

    @property
    def value(self) -> float:
        """Their sum."""
        return math.fsum(self._numbers) if self._total is None else self._total / _ONE

    def push(self, number: float) -> None:
        """Let a number come in and the oldest go."""
        if self._total is not None:
            self._total += _whole(number) - _whole(self._numbers[0])
        self._numbers.append(number)


def _whole(number: float) -> int:
    numerator, denominator = number.as_integer_ratio()
    return numerator << (_SCALE_BITS + 1 - denominator.bit_length())
