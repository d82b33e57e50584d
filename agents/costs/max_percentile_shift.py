"""The max percentile shift: the largest step through the population that a suggestion asks for."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from .contract import Array, Columns
from .shifts import Percentile, ShiftCost


class MaxPercentileShift(ShiftCost):
    """Largest change of a column's percentile in a reference population.

    The cost is max over d of |Q_d(candidate) - Q_d(person)|, with Q_d the empirical distribution function of
    column d: the share of the population at or below a value. A change is as hard as the number of people it
    passes, whatever the units, and a suggestion is as hard as its hardest change. One-hot columns are treated like all
    others: a change of category costs the larger of the two categories' shares of the population.

    Parameters
    ----------
    reference
        The population, encoded, shape (N, D) with N at least 1. It is not kept; its sorted columns are.

    Raises
    ------
    ValueError
        When the population is empty or not a matrix.

    Examples
    --------
    >>> reference = np.array([[0.0, 0.1], [0.2, 0.2], [0.4, 0.3], [1.0, 0.4]])
    >>> cost = MaxPercentileShift(reference)
    >>> cost(np.array([[0.4, 0.1], [0.0, 0.4]]), np.array([[0.0, 0.1]]))
    array([[0.5 , 0.75]])

    References
    ----------
    Ustun, B., Spangher, A. and Liu, Y. (2019). Actionable Recourse in Linear Classification. FAT*.
    """

    name: ClassVar[str] = "max_percentile_shift"
    combine: ClassVar[np.ufunc] = np.maximum

    def __init__(self, reference: Array) -> None:
        self.scale = Percentile(reference)

    @classmethod
    def build(cls, columns: Columns, reference: Array, samples: int, seed: int, **parameters: float) -> Self:
        """The cost by the percentiles of a population."""
        cls.check(parameters)
        return cls(reference)
