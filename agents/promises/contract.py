"""What every promise is: what an option guarantees to the person who takes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Promise(ABC):
    """States what holds for a person who becomes an option's target."""

    name: ClassVar[str]
    """What a program spec's ``policy.promise`` calls it."""

    @abstractmethod
    def guarantee(self, target: Array, score: Callable[[Array], Array]) -> dict[str, float] | None:
        """What is guaranteed of a target, shape (D,), as numbers by name; None: nothing.

        ``score`` gives the current model's scores, (n,), of encoded rows (n, D).
        """
