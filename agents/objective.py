"""What options of one person are compared by: how hard they are, and how probably they help."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .costs import Cost
from .improvement import Improvement

Array = NDArray[np.float64]


class Objective(NamedTuple):
    """A cost alone; or, with an ``improvement``, the probability that a person carries an option out and it helps.

    The second is exp(-nu cost) p(x' | x). ``nu`` is 0 or more.

    Examples
    --------
    >>> from onward.agents.costs import L1
    >>> Objective(L1()).aims
    False
    >>> Objective(L1(), nu=1.0).value(np.array([0.0, 4.0]), np.array([0.1, 0.5])).round(2)
    array([-0.79, -0.52])
    """

    cost: Cost
    nu: float = 0.0
    improvement: Improvement | None = None

    @property
    def aims(self) -> bool:
        """Whether options are to help, and not only to cost little."""
        return self.improvement is not None

    def value(self, log_odds: Array, cost: Array) -> Array:
        """The logarithm of that probability, of any shape, from the log odds that it helps, and the cost."""
        value: Array = -np.logaddexp(0.0, -log_odds) - self.nu * cost
        return value
