"""What recommends changes to people who are turned down."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Recommender(Protocol):
    """Says what each person should become."""

    def __call__(self, people: Floats, goals: Floats, difficulty: Floats) -> Floats:
        """The targets (n, D) at which people (n, D) reach the scores ``goals`` (n,); ``difficulty`` has shape (D,)."""
