"""The contract of estimates of improvement: how probably people have the desired outcome once they have changed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array as Array
from ..arrays import Indices as Indices
from ..sigmoid import sigmoid

Labels = NDArray[np.int64]


class Improvement(ABC):
    """Estimates whether a change helps. The estimate for a row does not depend, to the last bit, on the other rows."""

    @property
    def is_flat(self) -> bool:
        """Whether it says the same of everybody, so that nothing is known about what helps."""
        return False

    @abstractmethod
    def log_odds(self, after: Array, before: Array) -> Array:
        """The log odds, (P,), that people ``before`` (P, D) have the desired outcome who become ``after`` (P, D)."""

    @property
    def knows_deviation(self) -> bool:
        """Whether it has a ``deviation``."""
        return False

    def deviation(self, after: Array, before: Array) -> Array | None:
        """How far off the log odds may be: their standard deviation, (P,), of people as in ``log_odds``.

        None where nothing tells it: then no interval is given.
        """
        return None

    def __call__(self, after: Array, before: Array) -> Array:
        """The probabilities, (P,), that people ``before`` (P, D) have the desired outcome who become ``after``."""
        return sigmoid(self.log_odds(after, before))


class TrainedImprovement(Improvement):
    """An estimate that is fitted with a model, and kept beside it as plain arrays.

    ``onward.testing.check_improvement`` checks that it is restored bit for bit, and that what labels follow helps.
    """

    name: ClassVar[str]
    """What ``policy.improvement`` and a model's manifest call it."""

    @classmethod
    @abstractmethod
    def fit(cls, X: Array, labels: Labels, seed: int, unlabelled: Array | None = None) -> Self | None:
        """The estimate of encoded training rows (n, D) with labels (n,), 1 where desired; None where they say nothing.

        ``unlabelled`` (m, D) are rows of the same people of which nobody knows the label, where the spec reads them.
        The same rows, labels and seed give the same arrays.
        """

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of it as plain arrays, from which ``restore`` makes the same estimate, bit for bit."""

    @classmethod
    @abstractmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], columns: int) -> Self:
        """The estimate of some arrays.

        Raise ``ValueError`` when they are none over so many columns.
        """
