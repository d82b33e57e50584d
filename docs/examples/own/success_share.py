"""A learner: the option whose arm has helped the largest share of those who were told it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from onward.agents.choices import Choice, Pick, Pull, registry
from onward.agents.options import Options
from onward.agents.parameters import Interval

Array = NDArray[np.float64]


@registry.add
class SuccessShare(Choice):
    """Picks by the share of rewards of each arm, times how probably the person carries the option out.

    Parameters
    ----------
    hope
        How many rewarded people an arm is thought to have had before anybody was told it, of twice as many.
    """

    name: ClassVar[str] = "success_share"
    learns: ClassVar[bool] = True
    per_arm: ClassVar[frozenset[str]] = frozenset({"told", "rewarded"})

    def __init__(
        self, points: Array, window: int, *, hope: Annotated[float, Interval(above=0, at_most=100)] = 1.0
    ) -> None:
        super().__init__(points, window, hope=hope)
        self._hope = hope
        self._told, self._rewarded = np.zeros(self.arms), np.zeros(self.arms)

    def worth(self, options: Options, random: Callable[[], np.random.Generator]) -> Array:
        """The share of rewards, with the hope, times the execution probability, (F,)."""
        share = (self._rewarded + self._hope) / (self._told + 2 * self._hope)
        worth: Array = share[options.arm] * options.execution
        return worth

    def pick(self, options: Options, random: Callable[[], np.random.Generator]) -> Pick:
        """The option that is worth most; of equal ones that of the lower arm."""
        best = np.lexsort((options.arm, -self.worth(options, random)))[0]
        return Pick(options.arm.item(best), 1.0, options.execution.item(best))

    def update(self, pull: Pull, reward: float) -> None:
        """Count the reward."""
        self._told[pull.arm] += 1.0
        self._rewarded[pull.arm] += reward

    def retract(self, pull: Pull) -> None:
        """Nothing was counted yet."""

    def state(self) -> dict[str, NDArray[Any]]:
        """The counts."""
        return {"told": self._told.copy(), "rewarded": self._rewarded.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over the counts."""
        self.check_state(state)
        self._told, self._rewarded = state["told"].copy(), state["rewarded"].copy()
