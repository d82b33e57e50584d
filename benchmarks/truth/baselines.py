"""What learners are held against: an option drawn evenly, and plain Thompson sampling over arms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from onward.agents.choices import Choice, Pick, Pull, State, registry
from onward.agents.choices.contract import Array, FixedChoice
from onward.agents.options import Options
from onward.benchmarks.improvement import choices  # noqa: F401 -- the registry holds theirs too


class Evenly(FixedChoice):
    """Draws evenly among a person's options. It learns nothing; what a learner gains beyond it, it has learned."""

    name: ClassVar[str] = "evenly"

    def __init__(self, points: Array, window: int) -> None:
        super().__init__(points, window)
        self._rank = np.zeros(self.arms)
        self._propensity = 1.0

    def begin(self, options: Options, random: Callable[[], np.random.Generator]) -> None:
        """Put the options in a random order."""
        order = random().permutation(options.number)
        self._rank[options.arm[order]] = np.arange(options.number)
        self._propensity = 1 / max(1, options.number)

    def pick(self, options: Options, random: Callable[[], np.random.Generator]) -> Pick:
        """Pick the first of the options in this order."""
        first = self._rank[options.arm].argmin()
        return Pick(options.arm.item(first), self._propensity, options.execution.item(first))


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
        self._drawn = np.zeros(self.arms)

    def begin(self, options: Options, random: Callable[[], np.random.Generator]) -> None:
        """Draw a probability for the arm of each option."""
        arms = options.arm
        self._drawn[arms] = random().beta(1 + self._rewarded[arms], 1 + self._unrewarded[arms])

    def pick(self, options: Options, random: Callable[[], np.random.Generator]) -> Pick:
        """Pick the option of the largest draw."""
        best = self._drawn[options.arm].argmax()
        return Pick(options.arm.item(best), 1.0, options.execution.item(best))

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


class BetaRule(Thompson):
    """The plain rule: the mean of an arm's Beta posterior times the execution probability; it draws nothing."""

    name: ClassVar[str] = "beta"

    def begin(self, options: Options, random: Callable[[], np.random.Generator]) -> None:
        """Do nothing."""

    def pick(self, options: Options, random: Callable[[], np.random.Generator]) -> Pick:
        """Pick the option of the largest expected reward."""
        rewarded, unrewarded = self._rewarded[options.arm], self._unrewarded[options.arm]
        best = ((1 + rewarded) / (2 + rewarded + unrewarded) * options.execution).argmax()
        return Pick(options.arm.item(best), 1.0, options.execution.item(best))


METHODS: Mapping[str, type[Choice]] = MappingProxyType(
    {**registry, "evenly": Evenly, "thompson": Thompson, "beta": BetaRule}
)
"""Every choice, and the baselines."""
