"""No promise: an option says what to change, and guarantees nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from .contract import Array, Promise


class NoPromise(Promise):
    """Guarantees nothing."""

    name: ClassVar[str] = "none"

    def guarantee(self, target: Array, score: Callable[[Array], Array]) -> None:
        """Return None: nothing is guaranteed."""
