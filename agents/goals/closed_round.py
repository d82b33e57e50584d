"""A round that is over, as goals observe it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array as Array
from ..arrays import Mask

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class ClosedRound:
    """A round that is over.

    Parameters
    ----------
    number
        The number of the round. Numbers grow; some may be left out.
    places
        The number k of places.
    threshold
        The lowest score that got a place; 0 when nobody was turned down.
    newcomers
        The scores (m,) of those who applied without an earlier goal.
    own_goal, lag, reached, accepted
        Of those who came back with a goal, each (r,): that goal, how many rounds ago they were told it, whether their
        score reaches it, and whether they got a place. By default nobody came back.
    """

    number: int
    places: int
    threshold: float
    newcomers: Array
    own_goal: Array = field(default_factory=lambda: np.empty(0))
    lag: Indices = field(default_factory=lambda: np.empty(0, np.int64))
    reached: Mask = field(default_factory=lambda: np.empty(0, np.bool_))
    accepted: Mask = field(default_factory=lambda: np.empty(0, np.bool_))
