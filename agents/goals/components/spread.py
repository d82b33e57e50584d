"""The spread of newcomers' scores: the unit in which goals are searched and corrected."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Array

MEMORY = 0.98
"""The weight of a round relative to that of the next."""

PRIOR = 0.001
"""The weight of the assumption that the spread is 1, in newcomers."""


class Spread:
    """The standard deviation of newcomers' logit scores, in logits, by an analysis of variance.

    The scores of a round are compared with their own mean, and this with the mean of the round before. So the spread
    is known with one newcomer a round too, and a change of all scores together counts once.

    Before two newcomers it is 1.
    """

    def __init__(self) -> None:
        self.sums = np.zeros(2)  # squared deviations and their degrees of freedom, weighted
        self.last = np.zeros(2)  # mean and number of the newcomers of the last round that had any

    def add(self, logits: Array) -> None:
        """Add the scores (m,) of a round's newcomers."""
        count = len(logits)
        if not count:
            return
        mean, (last, earlier) = float(logits.mean()), self.last.tolist()
        self.sums *= MEMORY
        self.sums += (float(((logits - mean) ** 2).sum()), count - 1.0)
        if earlier:
            self.sums += ((mean - last) ** 2 / (1.0 / count + 1.0 / earlier), 1.0)
        self.last[:] = mean, count

    @property
    def logits(self) -> float:
        """The standard deviation."""
        squares, freedom = self.sums.tolist()
        return math.sqrt((squares + PRIOR) / (freedom + PRIOR))

    def arrays(self) -> dict[str, Array]:
        """The arrays of its state, by name; they are written to in place."""
        return {"sums": self.sums, "last": self.last}
