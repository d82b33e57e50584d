"""The scores of a model, which are all that rooms know of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from typing import Protocol, runtime_checkable

import numpy as np

from .arrays import Array
from .rounding import ROUNDING

Score = Callable[[Array], Array]
"""The current model's scores, (n,), of encoded rows (n, D). A row's score does not depend on the other rows."""

Scores = Callable[[Array], Array]
"""The scores of R models, (n, R), of encoded rows (n, D)."""

FEWEST_DIGITS, MOST_DIGITS = 2, 9
"""Decimal places of scores in words."""


@runtime_checkable
class LinearScore(Protocol):
    """A score whose log odds are ``weights`` (D,) times the encoded columns, plus ``bias``."""

    weights: Array
    bias: float

    def __call__(self, X: Array, /) -> Array:
        """The scores, (n,), of encoded rows (n, D)."""


@runtime_checkable
class WorstCase(Protocol):
    """A score whose log odds are those of a ``linear`` one, less a ``slack`` that depends on the row alone."""

    linear: LinearScore

    def __call__(self, X: Array, /) -> Array:
        """The scores, (n,), of encoded rows (n, D)."""

    def slack(self, X: Array, /) -> Array:
        """By how much the log odds of encoded rows (n, D) are below the linear ones, (n,), 0 or more."""

    def slopes(self, X: Array, /) -> Array:
        """The slopes of the slack at encoded rows (n, D), one for each column, (n, D)."""


def together(scores: Sequence[Score]) -> Scores:
    """The scores of several models, each, bit for bit, as it is alone.

    A type of scores that computes several faster than one by one has a static method ``together``, which is used where
    all are of it.
    """
    kinds = {type(score) for score in scores}
    if len(kinds) == 1 and (joined := getattr(kinds.pop(), "together", None)):
        several: Scores = joined(scores)
        return several
    return lambda X: np.stack([score(X) for score in scores], axis=1)


def models_in_words(score: Score) -> str:
    """Under which models a score is reached, after a space: what it says itself as ``models_in_words``.

    Nothing for that of the current model alone.
    """
    words: str | None = getattr(score, "models_in_words", None)
    return f" {words}" if words else ""


def digits_apart(*scores: float) -> int:
    """The fewest decimal places, two or more, at which scores that are told together differ as they do.

    Examples
    --------
    >>> digits_apart(0.4, 0.5, 0.5), digits_apart(0.9971, 0.9962, 0.5)
    (2, 3)

    Scores that differ in none of nine places are told as equal ones.

    >>> digits_apart(0.5, 0.5 + 1e-12)
    2
    """
    different = set(scores)
    for digits in range(FEWEST_DIGITS, MOST_DIGITS + 1):
        if len({rounded_down(score, digits) for score in different}) == len(different):
            return digits
    return FEWEST_DIGITS


def rounded_down(score: float, digits: int = FEWEST_DIGITS) -> str:
    """A score in words: 0.499 does not reach 0.50, and 0.999 is not 1.00.

    Examples
    --------
    >>> rounded_down(0.499), rounded_down(0.29), rounded_down(0.9999, 3)
    ('0.49', '0.29', '0.999')
    """
    return f"{floor(score * 10**digits + ROUNDING) / 10**digits:.{digits}f}"
