"""Where a parameter may lie."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """An open interval of finite numbers.

    Examples
    --------
    >>> 0.05 in Interval(above=0, below=1)
    True
    >>> 1.0 in Interval(above=0, below=1)
    False
    >>> print(Interval(above=0))
    above 0
    """

    above: float = -math.inf
    below: float = math.inf

    def __contains__(self, value: float) -> bool:
        return self.above < value < self.below

    def __str__(self) -> str:
        ends = (("above", self.above), ("below", self.below))
        return " and ".join(f"{word} {end:g}" for word, end in ends if math.isfinite(end)) or "that is finite"
