"""Worlds in which changes of some features please the model only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onward.environments.truth import Conditions
from onward.environments.truth.conditions import EFFECTS, generator

Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class StudiedConditions(Conditions):
    """Conditions under which changes of some features do not help.

    Parameters
    ----------
    inert
        The share of the features that may change whose changes please the model only. At 0 each change has the
        effect that the truth gives it, as if every relation in the data were causal.
    drift
        The share of the features that may change whose changes stop helping later.
    """

    inert: float = 0.0
    drift: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("inert", "drift"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give a share from 0 to 1")

    def ineffective(self, seed: int, mutable: Mask) -> tuple[Mask, Mask]:
        """The features (F,) whose changes do not help, before and after the shift.

        They are drawn among those that may change. Where any may, at least one always helps.
        """
        order = generator(seed, EFFECTS).permutation(np.flatnonzero(mutable))
        most = max(0, len(order) - 1)
        inert = min(most, round(self.inert * len(order)))
        drifted = min(most, inert + round(self.drift * len(order)))
        features = np.arange(len(mutable))
        return np.isin(features, order[:inert]), np.isin(features, order[:drifted])
