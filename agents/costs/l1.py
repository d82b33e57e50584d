"""The l1 cost: the sum of a suggestion's scaled changes."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from .contract import Array, Columns
from .shifts import LinearShift, ShiftCost


class L1(ShiftCost):
    """Sum of the absolute changes of all encoded columns.

    Every column counts the same per unit of its scaled range, which assumes that crossing the whole range is
    equally hard in each feature. A change of category costs 2, one for the category left and one for the category
    entered. Columns are added in their order, so that the result does not depend on the batch.

    Examples
    --------
    >>> candidates = np.array([[1.0, 0.5], [0.0, 0.0]])
    >>> people = np.array([[0.0, 0.25]])
    >>> L1()(candidates, people)
    array([[1.25, 0.25]])
    >>> L1().of_pairs(candidates, people, np.array([1]), np.array([0]))
    array([0.25])

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    """

    name: ClassVar[str] = "l1"
    uses_population: ClassVar[bool] = False
    combine: ClassVar[np.ufunc] = np.add

    scale = LinearShift()

    @classmethod
    def build(cls, columns: Columns, reference: Array, samples: int, seed: int, **parameters: float) -> Self:
        """The same cost for everybody."""
        cls.check(parameters)
        return cls()
