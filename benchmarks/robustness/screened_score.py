"""The score of an ensemble that asks the retrains only about rows that the model itself accepts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from onward.agents.promises import EnsembleScore
from onward.agents.scores import Score

Array = NDArray[np.float64]


class ScreenedScore(EnsembleScore):
    """``EnsembleScore``, but for rows that the model itself scores at ``screen`` or less: they keep that score."""

    def __init__(self, score: Score, retrains: Sequence[Score], delta: float, screen: float) -> None:
        super().__init__(score, retrains, delta)
        self._own, self._screen = score, screen

    def __call__(self, X: Array) -> Array:
        """The scores, (n,), of encoded rows (n, D)."""
        scores = np.array(self._own(X), dtype=np.float64)
        rows = np.flatnonzero(scores > self._screen)
        if len(rows):
            scores[rows] = super().__call__(X[rows])
        return scores
