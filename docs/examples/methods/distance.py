"""A promise: how far an option is above the required score."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onward.agents.promises import Promise, registry
from onward.agents.promises.contract import Array, Score


@registry.add
class Distance(Promise):
    """States the target's score, and its distance from what is required."""

    name: ClassVar[str] = "distance"

    def guarantee(self, target: Array, score: Score, required: float = 0.5) -> dict[str, float]:
        """The score of the target under the current model."""
        reached = score(target[np.newaxis]).item()
        return {"score": reached, "distance": reached - required}
