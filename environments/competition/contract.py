"""What recommends changes to people who are turned down."""

from __future__ import annotations

from typing import Protocol

from ...agents.arrays import Array


class Recommender(Protocol):
    """Says what each person should become."""

    def __call__(self, people: Array, goals: Array, difficulty: Array) -> Array:
        """The targets (n, D) at which people (n, D) reach the scores ``goals`` (n,); ``difficulty`` has shape (D,)."""
