"""The places of rounds, and how many the next one may have where nobody has said it."""

from __future__ import annotations

import numpy as np

KEPT, MEMORY = 8, 0.7
"""Rounds whose places may come again, and the weight of one relative to the next."""


class Places:
    """The numbers of places of the last rounds that had any.

    Examples
    --------
    >>> places = Places()
    >>> places.add(9), places.expected(None), places.expected(4)
    (None, [(9, 1.0)], [(4, 1.0)])
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

    def expected(self, announced: int | None) -> list[tuple[int, float]]:
        """The numbers of places that the next round may have, each with its probability."""
        if announced or not self:
            return [(announced or 0, 1.0)]
        weights = np.where(self.last > 0, MEMORY ** np.arange(KEPT), 0.0)
        return [
            (places, float(weights[self.last == places].sum() / weights.sum()))
            for places in np.unique(self.last[self.last > 0]).tolist()
        ]
