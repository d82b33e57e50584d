"""Equality of rows by number: equal rows have the same number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array

UNKNOWN = -1


class Patterns:
    """Numbers the distinct rows of a matrix, and finds the number of other rows.

    Parameters
    ----------
    rows
        Shape (K, d); d may be 0, then all rows are equal.

    Examples
    --------
    >>> patterns = Patterns(np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 1.0]]))
    >>> patterns.numbers
    array([0, 1, 0])
    >>> patterns.find(np.array([[1.0, 1.0], [0.5, 0.5]]))
    array([ 1, -1])
    """

    def __init__(self, rows: Array) -> None:
        self._numbers: dict[bytes, int] = {}
        for key in _keys(rows):
            self._numbers.setdefault(key, len(self._numbers))
        self.numbers = self.find(rows)
        """The number of each row, shape (K,)."""

    def __len__(self) -> int:
        """The number of distinct rows."""
        return len(self._numbers)

    def find(self, rows: Array) -> NDArray[np.int64]:
        """The number of each row of shape (n, d), ``UNKNOWN`` where no row is equal to it."""
        return np.fromiter((self._numbers.get(key, UNKNOWN) for key in _keys(rows)), dtype=np.int64, count=len(rows))


def _keys(rows: Array) -> list[bytes]:
    # Adding 0 turns -0 into 0, so that equal numbers have equal bytes.
    data = (rows + 0.0).tobytes()
    width = 8 * rows.shape[1]
    return [data[start * width : (start + 1) * width] for start in range(len(rows))]
