"""A timeout that restarts whenever the observed state changes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable

_LONGEST_STEP_SECONDS = 2.0


class StallTimeout:
    """Ends when the state has not changed for ``seconds``: it tolerates a slow machine, not one that makes no progress.

    It ends after ``max_seconds`` even if the state keeps changing. Between two calls at most two seconds count: a
    process that stood still has not watched.

        timeout = StallTimeout(30.0)
        while timeout.keep_waiting(len(answers)): ...
    """

    def __init__(
        self, seconds: float, *, max_seconds: float = math.inf, clock: Callable[[], float] | None = None
    ) -> None:
        self._seconds = seconds
        self._max_seconds = max_seconds
        self._clock = clock or time.monotonic
        self._last_call = self._clock()
        self._watched = self._changed = 0.0
        self._last: Hashable = None

    def keep_waiting(self, state: Hashable) -> bool:
        """Record the state; return False when the timeout has ended."""
        now = self._clock()
        self._watched += min(now - self._last_call, _LONGEST_STEP_SECONDS)
        self._last_call = now
        if state != self._last:
            self._last, self._changed = state, self._watched
        return self._watched < min(self._max_seconds, self._changed + self._seconds)
