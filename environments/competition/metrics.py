"""Reliability and feasibility of goals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...agents.arrays import Array

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Outcomes:
    """What became of the goals in a round, one number an episode, (E,).

    ``reached`` people came back with a score that reaches their own goal, of whom ``accepted`` got a place;
    ``rejected`` is the number of all people whose last application was turned down in the last T rounds, those who have
    given up included. ``threshold`` is the lowest score that got a place, NaN without one.
    """

    reached: Counts
    accepted: Counts
    rejected: Counts
    applicants: Counts
    threshold: Array

    @property
    def reliability(self) -> Array:
        """RR, the accepted share of those who reach their goal; NaN in episodes without such a person."""
        return share(self.accepted, self.reached)

    @property
    def feasibility(self) -> Array:
        """RF, the share of the rejected who reach their goal; NaN in episodes without a rejected person."""
        return share(self.reached, self.rejected)


def share(part: Counts, whole: Counts) -> Array:
    """The shares (E,) of whole numbers; NaN of nothing."""
    return np.asarray(np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0))
