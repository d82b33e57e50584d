"""The decision threshold: the goal that a program's own model sets."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..arrays import Array, Mask
from .contract import Goal


def accepted(score: Array, threshold: float) -> Mask:
    """Whether a model approves each of n scores, those strictly above its threshold, (n,).

    A score on the threshold is rejected. With threshold 0.5 that is what a classifier's own prediction says where the
    undesired class comes first, and it happens: half of a forest's trees can vote each way.

    Examples
    --------
    >>> accepted(np.array([0.4, 0.5, 0.51]), threshold=0.5)
    array([False, False,  True])
    """
    return np.greater(score, threshold)


class ThresholdGoal(Goal):
    """A score that the program's model approves, by a margin."""

    name: ClassVar[str] = "threshold"

    @property
    def required(self) -> float:
        """The threshold and the margin."""
        return self.threshold + self.margin
