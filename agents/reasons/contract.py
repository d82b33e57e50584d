"""The contract of what computes contributions."""

from __future__ import annotations

from typing import Protocol

from ..arrays import Array


class Contributions(Protocol):
    """Computes what features contribute to scores, against a baseline that it was made with."""

    def contributions_of(self, people: Array) -> Array:
        """The contribution of each feature, (n, F), to the scores of encoded people (n, D), on the model's scale.

        A person's contributions do not depend, bit for bit, on the other people. They are NaN where the model cannot
        score a mixture of the person and the baseline.
        """
