"""The score itself, where no labels say more: what the model accepts is taken to improve people as far as it says."""

from __future__ import annotations

from ..scores import Score
from ..sigmoid import logit
from .contract import Array, Improvement

SMALLEST = 1e-6
"""Scores count as no closer to 0 and 1, where log odds have no end."""


class OwnScore(Improvement):
    """The log odds of the decision model's own score, of the row after the change."""

    def __init__(self, score: Score) -> None:
        self._score = score

    def log_odds(self, after: Array, before: Array) -> Array:  # the model sees the row after it only
        """The log odds of the scores of ``after`` (P, D), (P,)."""
        return logit(self._score(after), SMALLEST)
