"""The ranges of single features: bounds, and the largest change that a person is asked for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array


class Ranges(NamedTuple):
    """Rules for the raw values of F features, (F,) each; the rank of an ordinal feature. One-hot features have none.

    A value stays between ``lowest`` and ``highest``. It changes by at most ``largest_change``, and by at most
    ``largest_share`` of the person's own value; both are infinite where there is no such rule. ``floor`` and
    ``ceiling`` are the farthest bounds that would make sense: an explanation names no bound beyond them.
    """

    lowest: Array
    highest: Array
    largest_change: Array
    largest_share: Array
    floor: Array
    ceiling: Array

    @classmethod
    def from_bounds(cls, lowest: Array, highest: Array) -> Ranges:
        """Bounds (F,) that nothing could widen, and changes of any size."""
        free = np.full(len(lowest), np.inf)
        return cls(lowest, highest, free, free, lowest, highest)

    def largest(self, own: Array) -> Array:
        """The largest change of each feature, for raw values (..., F) of people."""
        with np.errstate(invalid="ignore"):
            shares = self.largest_share * np.abs(own)
        return np.minimum(self.largest_change, np.where(np.isinf(self.largest_share), np.inf, shares))

    def room(self, own: Array) -> tuple[Array, Array]:
        """The room of each feature to fall and to rise from raw values (..., F) of people, 0 or more, (..., F) each."""
        largest = self.largest(own)
        fall, rise = (np.minimum(room, largest).clip(min=0.0) for room in (own - self.lowest, self.highest - own))
        return fall, rise

    def subset(self, features: list[int]) -> Ranges:
        """The rules of some of the features."""
        return Ranges._make(field[features] for field in self)

    def replaced(self, rule: str, feature: int, value: float) -> Ranges:
        """The same with another value of one feature's rule, a field's name."""
        field: Array = getattr(self, rule).copy()
        field[feature] = value
        return self._replace(**{rule: field})
