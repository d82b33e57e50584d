"""The rewards of a shard's options, held against those that were expected.

Outcomes count from the end of the first window on. Before it those that somebody reports are known, and those of whom
nothing is heard are not yet, so that the rewards would look better than they are: such early ones are only numbered.

References
----------
Bifet, A. and Gavaldà, R. (2007). Learning from Time-Changing Data with Adaptive Windowing. SDM.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..program_state import ProgramState

Array = NDArray[np.float64]

KEPT = 1000
"""Outcomes that a shard keeps."""
TENTHS = 10
DECILES = tuple(f"{low / TENTHS:.1f}-{(low + 1) / TENTHS:.1f}" for low in range(TENTHS))
"""The labels of the tenths of a probability; a bound belongs to the upper one."""
CHECKED_EVERY = 32
"""Outcomes between two looks for a drift, each of which reads all that are kept."""
FALSE_ALARM = 0.05
"""The confidence parameter delta of ADWIN, whose bound is loose: 10,000 calm outcomes raise no alarm (a test)."""


class RewardWatch(ProgramState):
    """The last outcomes of a shard: the ``expected`` reward of each, and the ``rewards`` that came.

    ``first_ms`` and ``first_step`` are when the first window ends, in the unit that it has. ``count`` is how many
    outcomes were added in all, ``drifts`` how many drifts were found, and ``drift_ms`` the event time of the last.
    ``early`` is how many outcomes came before the end of the first window.
    """

    table: ClassVar[str] = "reward_watch"

    first_ms: int | None = None
    first_step: int | None = None
    expected: list[float] = msgspec.field(default_factory=list)
    rewards: list[float] = msgspec.field(default_factory=list)
    count: int = 0
    drifts: int = 0
    drift_ms: int | None = None
    early: int = 0

    def open(self, closes_ms: int | None, closes_step: int | None) -> None:
        """Take the end of the window of the first option whose reward is known."""
        if self.first_ms is None and self.first_step is None:
            self.first_ms, self.first_step = closes_ms, closes_step

    def has_begun(self, time_ms: int, step: int) -> bool:
        """Whether the first window has ended."""
        by_time = self.first_ms is not None and time_ms >= self.first_ms
        return by_time or (self.first_step is not None and step >= self.first_step)

    def add(self, expected: float, reward: float, time_ms: int) -> bool:
        """Add an outcome; return whether rewards have drifted away from what is expected.

        What was before the drift is forgotten then.
        """
        self.expected.append(expected)
        self.rewards.append(reward)
        self._keep(KEPT)
        self.count += 1
        if self.count % CHECKED_EVERY or (width := _undrifted(self.residuals)) == len(self.rewards):
            return False
        self._keep(width)
        self.drifts, self.drift_ms = self.drifts + 1, time_ms
        return True

    @property
    def residuals(self) -> Array:
        """The rewards less what was expected."""
        return np.asarray(np.array(self.rewards) - np.array(self.expected))

    def by_tenth(self) -> Array:
        """How many outcomes there are, the sum of what was expected, and that of the rewards, (3, 10).

        By tenths of the expected reward; a bound belongs to the upper one.
        """
        expected = np.array(self.expected)
        tenths = tenth_of(expected)
        sums = (np.bincount(tenths, weights, TENTHS) for weights in (None, expected, np.array(self.rewards)))
        return np.stack([total.astype(np.float64) for total in sums])

    def _keep(self, last: int) -> None:
        del self.expected[:-last], self.rewards[:-last]


def tenth_of(probabilities: Array) -> NDArray[np.intp]:
    """The tenth of each probability, from 0; a bound belongs to the upper one, and 1 to the last."""
    return np.minimum((TENTHS * probabilities).astype(np.intp), TENTHS - 1)


def decile_of(probability: float) -> str:
    """The label of the tenth of a probability."""
    return DECILES[min(int(TENTHS * probability), TENTHS - 1)]


def calibration_error(by_tenth: Array) -> float:
    """The mean distance of predicted and observed rewards over tenths, weighted by their outcomes, of (3, 10) sums.

    The expected calibration error of Naeini, Cooper and Hauskrecht (2015), AAAI. There must be outcomes.
    """
    outcomes, expected, rewards = by_tenth
    return float(np.abs(expected - rewards).sum() / outcomes.sum())


def _undrifted(values: Array) -> int:
    """How many of the last values ADWIN keeps: all of them where their mean has not changed."""
    # Imported here: with pandas it takes a second or two, and not every worker comes to this.
    from river.drift import ADWIN

    adwin = ADWIN(delta=FALSE_ALARM, clock=CHECKED_EVERY)
    for value in values.tolist():
        adwin.update(value)
    return int(adwin.width)
