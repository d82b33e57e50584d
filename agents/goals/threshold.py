"""The decision threshold: the goal that a program's own model sets."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .contract import Goal


class Threshold(Goal):
    """A score strictly above the model's decision threshold.

    A score on the threshold is rejected. With threshold 0.5 that is what a classifier's own prediction says where the
    undesired class comes first, and it happens: half of a forest's trees can vote each way.

    Examples
    --------
    >>> Threshold(0.5).reached(np.array([0.4, 0.5, 0.51]))
    array([False, False,  True])
    """

    name: ClassVar[str] = "threshold"

    def reached(self, score: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which scores, shape (n,), the model approves."""
        return np.greater(score, self.threshold)
