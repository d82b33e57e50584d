"""Which of the rounds to come have places, and how many, by what was announced and by the last season."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

UNKNOWN = -1
LONGEST_PAUSE = 1000
"""After so many rounds without places one with places is supposed."""


class RoundsAhead(NamedTuple):
    """The rounds of a promise: their ``numbers`` and ``places`` (None where nobody knows them), and the numbers of the
    rounds ``without`` places before the last of them."""

    numbers: tuple[int, ...]
    places: tuple[int | None, ...]
    without: tuple[int, ...]


class Season:
    """The places of the last ``length`` rounds, which come again after so many rounds where nobody announces others.

    With a length of 0 none do.

    Examples
    --------
    Every third round is a pause.

    >>> season = Season(3)
    >>> for number, places in enumerate((9, 8, 0)):
    ...     season.add(number, places)
    >>> season.ahead(2, horizon=3, announced=(7,))
    RoundsAhead(numbers=(3, 4, 6), places=(7, 8, 9), without=(5,))
    """

    def __init__(self, length: int) -> None:
        self.last = np.full(length, UNKNOWN, dtype=np.int64)

    def add(self, number: int, places: int) -> None:
        """Add the places of a round."""
        if len(self.last):
            self.last[number % len(self.last)] = places

    def ahead(self, number: int, horizon: int, announced: Sequence[int | None]) -> RoundsAhead:
        """The next ``horizon`` rounds with places after round ``number``; those ``announced`` are the first of all."""
        numbers, places, without = list[int](), list[int | None](), list[int]()
        for following in range(number + 1, number + 1 + horizon + LONGEST_PAUSE):
            [stated] = announced[following - number - 1 : following - number] or [None]
            stated = self.places(following) if stated is None else stated
            if stated == 0 and len(without) < LONGEST_PAUSE:
                without.append(following)
                continue
            numbers.append(following)
            places.append(stated)
            if len(numbers) == horizon:
                break
        return RoundsAhead(tuple(numbers), tuple(places), tuple(without))

    def places(self, number: int) -> int | None:
        """The places of a round by those of the last season; None where nothing is known of it."""
        known = int(self.last[number % len(self.last)]) if len(self.last) else UNKNOWN
        return None if known == UNKNOWN else known
