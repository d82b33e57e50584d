"""A promise: how far an option is above a score of one half."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from onward.agents.promises import Promise, registry
from onward.agents.promises.contract import Array


@registry.add
class Distance(Promise):
    """States the target's score, and its distance from one half."""

    name: ClassVar[str] = "distance"

    def guarantee(self, target: Array, score: Callable[[Array], Array]) -> dict[str, float]:
        """The score of the target under the current model."""
        reached = score(target[np.newaxis]).item()
        return {"score": reached, "distance": reached - 0.5}
