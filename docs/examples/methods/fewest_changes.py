"""A choice: the options that change the fewest columns. It learns nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from onward.agents.choices import FixedChoice, Pick, registry
from onward.agents.options import Options


@registry.add
class FewestChanges(FixedChoice):
    """Picks the options that change the fewest columns, of equal ones those that are easiest to carry out."""

    name: ClassVar[str] = "fewest_changes"

    def pick(self, options: Options, random: Callable[[], np.random.Generator]) -> Pick:
        """The option of the fewest changes."""
        changed = (options.targets != options.person).sum(axis=1)
        best = np.lexsort((options.arm, -options.execution, changed))[0]
        return Pick(options.arm.item(best), 1.0, options.execution.item(best))
