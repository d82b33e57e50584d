"""No promise: an option says what to change, and guarantees nothing."""

from __future__ import annotations

from typing import ClassVar

from .contract import Array, Promise, Score


class NoPromise(Promise):
    """Guarantees nothing."""

    name: ClassVar[str] = "none"

    def guarantee(self, target: Array, score: Score, required: float = 0.5) -> None:
        """Return None: nothing is guaranteed."""
