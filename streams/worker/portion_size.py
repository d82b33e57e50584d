"""The size of a portion: as many entries as are folded in about half a second.

Partitions fold one at a time, so the applications of one program would else hold up another's for as long as it takes
to answer thousands of people. What a portion holds changes no byte of what is answered.
"""

from __future__ import annotations

PORTION_SECONDS = 0.5
"""Seconds that a fold may take, about."""
FIRST_ENTRIES = 200
"""The first portion, of which nothing is known."""


class PortionSize:
    """How many entries of a journal partition are folded together, learned from the folds before; at most ``most``."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.entries = min(most, FIRST_ENTRIES)

    def folded(self, entries: int, seconds: float) -> None:
        """Learn from a fold. The next portion is at most twice as large: behind cheap entries may stand others."""
        in_time = self._most if seconds <= 0 else int(entries * PORTION_SECONDS / seconds)
        self.entries = max(1, min(self._most, 2 * max(entries, self.entries), in_time))
