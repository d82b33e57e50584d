"""How long something is waited for: as long as it moves."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

_MOST_SECONDS = 1200.0


class Patience:
    """Ends when nothing has changed for ``seconds``: a slow machine is waited for, one that stands still is not.

    However much it changes, it ends after ``most_seconds``.
    """

    def __init__(
        self, seconds: float, *, most_seconds: float = _MOST_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._changed = clock()
        self._end = self._changed + most_seconds
        self._last: Hashable = None

    def lasts(self, now: Hashable) -> bool:
        """Whether to wait on, now that it stands so."""
        if now != self._last:
            self._last, self._changed = now, self._clock()
        return self._clock() < min(self._end, self._changed + self._seconds)
