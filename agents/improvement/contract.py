"""What every estimate of improvement is: how probably people have the desired outcome once they have changed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..sigmoid import sigmoid

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class Improvement(ABC):
    """Estimates whether a change helps. The estimate for a row does not depend, to the last bit, on the other rows."""

    name: ClassVar[str]
    """What a model's manifest calls it."""

    @property
    def is_flat(self) -> bool:
        """Whether it says the same of everybody, so that nothing is known about what helps."""
        return False

    @abstractmethod
    def log_odds(self, after: Array, before: Array) -> Array:
        """The log odds, (P,), that people ``before`` (P, D) have the desired outcome who become ``after`` (P, D)."""

    def __call__(self, after: Array, before: Array) -> Array:
        """The probabilities, (P,), that people ``before`` (P, D) have the desired outcome who become ``after``."""
        return sigmoid(self.log_odds(after, before))
