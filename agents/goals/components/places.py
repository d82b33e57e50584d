"""The places of rounds, and how many the next ones may have where nobody has said it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Array

KEPT, MEMORY = 8, 0.7
"""Rounds whose places may come again, and the weight of one relative to the next."""


class RecentPlaces:
    """The numbers of places of the last rounds that had any.

    Examples
    --------
    >>> places = RecentPlaces()
    >>> places.add(9)
    >>> places.expected([None], np.ones(1)), places.expected([4, 8], np.array([0.75, 0.25]))
    ([(9, 1.0)], [(4, 0.75), (8, 0.25)])
    """

    def __init__(self) -> None:
        self.last = np.zeros(KEPT, dtype=np.int64)  # the last one first, 0 where there was none

    def __bool__(self) -> bool:
        """Whether there was a round with places."""
        return bool(self.last[0])

    def add(self, places: int) -> None:
        """Add those of a round."""
        self.last[1:] = self.last[:-1].copy()
        self.last[0] = places

    def expected(self, known: Sequence[int | None], rates: Array) -> list[tuple[int, float]]:
        """The numbers of places that the rounds of a promise may have, each with its probability.

        ``known`` are those that are known, by round, and ``rates`` (T,) how probably people come back in each. Where
        nothing is known of the first round, nothing is known.
        """
        if known[0] is None:
            return self._recent()
        chances = dict[int, float]()
        for rate, places in zip((rates / rates.sum()).tolist(), known, strict=True):
            for number, chance in self._recent() if places is None else [(places, 1.0)]:
                chances[number] = chances.get(number, 0.0) + rate * chance
        return [(known[0], 1.0)] if len(chances) == 1 else sorted(chances.items())

    def _recent(self) -> list[tuple[int, float]]:
        if not self:
            return [(0, 1.0)]
        weights = np.where(self.last > 0, MEMORY ** np.arange(KEPT), 0.0)
        return [
            (places, float(weights[self.last == places].sum() / weights.sum()))
            for places in np.unique(self.last[self.last > 0]).tolist()
        ]
