"""What every truth is: who has the desired outcome, as a function of features."""

from __future__ import annotations

from typing import Protocol

from ...agents.arrays import Array


class Truth(Protocol):
    """The data-generating process of a world. The program's model never sees it, only labels drawn from it."""

    def probability(self, X: Array) -> Array:
        """The probability (n,) of the desired outcome of people with encoded features (n, D)."""
