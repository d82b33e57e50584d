"""Drift: whether thresholds or the scores of newcomers have changed their distribution.

ADWIN keeps a window of variable length over a stream and cuts it where two parts of it have different means. Only the
last values are kept, and ADWIN reads them again at each round: the result follows from them alone.

References
----------
Bifet, A. and Gavaldà, R. (2007). Learning from Time-Changing Data with Adaptive Windowing. SDM.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

KEPT = 256
"""Rounds whose values are kept."""


class DriftDetector:
    """Watches one number a round: ``values`` (KEPT,), of which the last ``count`` (1,) are there."""

    def __init__(self) -> None:
        # Imported here: with pandas it takes a second or two, and most programs close no rounds.
        from river.drift import ADWIN

        self._adwin: Callable[..., Any] = ADWIN
        self.values = np.zeros(KEPT)
        self.count = np.zeros(1, dtype=np.int64)

    def update(self, value: float) -> bool:
        """Add a round's number; return whether the mean has changed. What was before the change is forgotten then."""
        self.values[:-1] = self.values[1:]
        self.values[-1] = value
        self.count[0] = min(self.count[0] + 1, KEPT)
        adwin = self._adwin(clock=1, min_window_length=5, grace_period=10)
        for kept in self.values[KEPT - self.count[0] :]:
            adwin.update(float(kept))
        if adwin.drift_detected:
            self.count[0] = min(int(adwin.width), self.count[0])
        return bool(adwin.drift_detected)

    def state(self) -> dict[str, NDArray[Any]]:
        """A copy of everything kept."""
        return {"values": self.values.copy(), "count": self.count.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue where another stood. Raise ``ValueError`` when its state is not one of such a detector."""
        if {name: array.shape for name, array in state.items()} != {"values": (KEPT,), "count": (1,)}:
            raise ValueError(f"the state of a drift detector holds {sorted(state)}")
        self.values, self.count = state["values"].astype(np.float64), state["count"].astype(np.int64)
