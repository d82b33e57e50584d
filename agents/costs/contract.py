"""What every cost is."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Cost(Protocol):
    """How hard it is for each person to become each candidate.

    Costs are not negative. A person's row does not depend on the others in the batch, to the last bit.
    """

    def __call__(self, candidates: NDArray[np.float64], people: NDArray[np.float64]) -> NDArray[np.float64]:
        """Costs of shape (n, K) for candidates (K, D) and people (n, D), both encoded and scaled to [0, 1]."""

    def of_pairs(
        self,
        candidates: NDArray[np.float64],
        people: NDArray[np.float64],
        which: NDArray[np.intp],
        whose: NDArray[np.intp],
    ) -> NDArray[np.float64]:
        """Costs of shape (P,) of candidates ``which`` (P,) for people ``whose`` (P,): the same bits, fewer of them."""
