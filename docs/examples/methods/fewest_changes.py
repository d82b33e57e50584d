"""A choice: the options that change the fewest columns. It learns nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from onward.agents.choices import Choice, Pick, Pull, State, registry
from onward.agents.options import Options


@registry.add
class FewestChanges(Choice):
    """Picks the options that change the fewest columns, of equal ones those that are easiest to carry out."""

    name: ClassVar[str] = "fewest_changes"
    learns: ClassVar[bool] = False
    ignores_zero_reward: ClassVar[bool] = True

    def choose(self, options: Options, random: Callable[[], np.random.Generator]) -> Pick | None:
        """The option of the fewest changes."""
        return next(iter(self.select(options, 1, random)), None)

    def select(self, options: Options, max_options: int, random: Callable[[], np.random.Generator]) -> tuple[Pick, ...]:
        """The options of the fewest changes, up to ``max_options``."""
        changed = (options.targets != options.person).sum(axis=1)
        best = np.lexsort((options.arm, -options.execution, changed))[:max_options]
        return tuple(Pick(options.arm.item(at), 1.0, options.execution.item(at)) for at in best)

    def update(self, pull: Pull, reward: float) -> None:
        """Learn nothing."""

    def retract(self, pull: Pull) -> None:
        """Take nothing back."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Nothing."""
        return {}

    def restore(self, state: State) -> None:
        """Continue from nothing."""
        self.check_state(state)
