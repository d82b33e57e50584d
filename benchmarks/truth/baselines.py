"""What learners are held against: an option drawn evenly, and plain Thompson sampling over arms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from onward.agents.choices import Choice, Pick, Pull, State, registry
from onward.agents.choices.contract import Array
from onward.agents.options import Options


class Evenly(Choice):
    """Draws evenly among a person's options. It learns nothing; what a learner gains beyond it, it has learned."""

    name: ClassVar[str] = "evenly"
    learns: ClassVar[bool] = False
    ignores_zero_reward: ClassVar[bool] = True

    def choose(self, options: Options, random: Callable[[], np.random.Generator]) -> Pick | None:
        """Draw one of the options."""
        return self.pick(options, random) if len(options) else None

    def pick(self, options: Options, random: Callable[[], np.random.Generator]) -> Pick:
        """Pick one of F > 0 options."""
        return self.select(options, 1, random)[0]

    def select(self, options: Options, max_options: int, random: Callable[[], np.random.Generator]) -> tuple[Pick, ...]:
        """Draw up to ``max_options`` options."""
        drawn = random().permutation(len(options))[:max_options].tolist()
        return tuple([Pick(options.arm.item(at), 1 / len(options), options.execution.item(at)) for at in drawn])

    def update(self, pull: Pull, reward: float) -> None:
        """Learn nothing."""

    def retract(self, pull: Pull) -> None:
        """Take nothing back."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return an empty state."""
        return {}

    def restore(self, state: State) -> None:
        """Restore an empty state."""
        self.check_state(state)


class Thompson(Choice):
    """Thompson sampling with a Beta posterior for each arm's probability of a reward, uniform at first.

    It takes the option with the largest draw. Execution probabilities are part of the reward and not looked at. A pull
    counts when its window closes.

    References
    ----------
    Chapelle, O. and Li, L. (2011). An Empirical Evaluation of Thompson Sampling. NeurIPS. Algorithm 2.
    """

    name: ClassVar[str] = "thompson"
    learns: ClassVar[bool] = True

    def __init__(self, points: Array, window: int) -> None:
        super().__init__(points, window)
        self._rewarded, self._unrewarded = np.zeros(self.arms), np.zeros(self.arms)

    def choose(self, options: Options, random: Callable[[], np.random.Generator]) -> Pick | None:
        """Take the option of the largest draw."""
        return self.pick(options, random) if len(options) else None

    def pick(self, options: Options, random: Callable[[], np.random.Generator]) -> Pick:
        """Pick one of F > 0 options."""
        return self.select(options, 1, random)[0]

    def select(self, options: Options, max_options: int, random: Callable[[], np.random.Generator]) -> tuple[Pick, ...]:
        """Take the options of the largest draws, up to ``max_options``."""
        arms = options.arm
        drawn = random().beta(1 + self._rewarded[arms], 1 + self._unrewarded[arms])
        best = np.argsort(-drawn, kind="stable")[:max_options].tolist()
        return tuple([Pick(arms.item(at), 1.0, options.execution.item(at)) for at in best])

    def update(self, pull: Pull, reward: float) -> None:
        """Count a reward, or that there was none."""
        self._rewarded[pull.arm] += reward
        self._unrewarded[pull.arm] += 1 - reward

    def retract(self, pull: Pull) -> None:
        """Do nothing: a pull counts only when its window closes."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the counts of pulls with and without a reward."""
        return {"rewarded": self._rewarded.copy(), "unrewarded": self._unrewarded.copy()}

    def restore(self, state: State) -> None:
        """Restore the counts."""
        self.check_state(state)
        self._rewarded, self._unrewarded = state["rewarded"].copy(), state["unrewarded"].copy()


METHODS: Mapping[str, type[Choice]] = MappingProxyType({**registry, "evenly": Evenly, "thompson": Thompson})
"""Every choice, and the baselines."""
