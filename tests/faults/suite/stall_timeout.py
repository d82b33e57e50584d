"""A timeout that restarts whenever the observed state changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

_MAX_SECONDS = 1200.0


class StallTimeout:
    """Ends when the state has not changed for ``seconds``: it tolerates a slow machine, not one that makes no progress.

    It ends after ``max_seconds`` even if the state keeps changing.
    """

    def __init__(
        self, seconds: float, *, max_seconds: float = _MAX_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._changed = clock()
        self._end = self._changed + max_seconds
        self._last: Hashable = None

    def keep_waiting(self, state: Hashable) -> bool:
        """Record the state; return False when the timeout has ended."""
        if state != self._last:
            self._last, self._changed = state, self._clock()
        return self._clock() < min(self._end, self._changed + self._seconds)
