"""Pulls that nothing has been heard of yet, and what their silence tells of the efforts."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ..contract import Array, Pull, State
from .arm_posteriors import ArmPosteriors
from .change_weights import ChangeWeights

SUREST = 0.98
"""No reward is expected with more than this probability, so that no single outcome says all about the weights."""


class PendingPulls:
    """Teaches efforts what pulls tell: rewarded, without reward, or silent for so long that they seem to be without.

    After ``window`` steps a pull without news is a failure for now. Its change is kept until its fate is known, so that
    a late reward can make it a success, and what was never seen nothing. At most ``memory`` pulls are kept; while there
    are so many, new ones tell nothing of the efforts, whatever becomes of them: to let old ones go would leave those
    that are heard of soon, which are successes.
    """

    ARRAYS: ClassVar[frozenset[str]] = frozenset({"steps", "picked", "executions", "odds", "efforts", "changes"})

    def __init__(self, efforts: ChangeWeights, candidates: int, window: int, memory: int) -> None:
        self._efforts, self._candidates, self._window, self._memory = efforts, candidates, window, memory
        self._slots: dict[int, int] = {}
        self._free = list(range(memory))
        self._picked = np.zeros(memory, dtype=np.int64)
        self._executions, self._odds, self._strain = (np.zeros(memory) for _ in range(3))
        self._changes = np.zeros((memory, len(efforts.weights)))

    def begin(self, step: int, candidate: int, change: Array, mean: float, execution: float) -> None:
        """Wait for news of a pull, of which a reward is expected with the probability mean * execution."""
        if not self._free:
            return
        e = max(execution, math.ulp(0.0))
        expected = min(mean * e, SUREST)
        slot = self._free.pop()
        self._slots[step], self._picked[slot], self._changes[slot] = slot, candidate, change
        self._executions[slot], self._odds[slot], self._strain[slot] = e, expected / (1.0 - expected), -math.log(e)

    def pass_to(self, step: int) -> None:
        """Count the pull that was made a window before this step as a failure, for now."""
        slot = self._slots.get(step - self._window)
        if slot is not None:
            odds = self._odds.item(slot)
            self._efforts.learn(self._changes[slot], odds, odds, self._strain.item(slot))

    def reward(self, pull: Pull, reward: float, next_step: int) -> None:
        """Learn a pull's reward, in [0, 1]; ``next_step`` tells whether it counts as a failure already."""
        slot = self._end(pull)
        if slot is None:
            return
        change, odds = self._changes[slot], self._odds.item(slot)
        if not self._counts(pull, next_step):
            self._efforts.learn(change, (1.0 - reward) * odds - reward, odds, self._strain.item(slot))
        elif reward:
            self._efforts.learn(change, -reward * (1.0 + odds), 0.0, 0.0)

    def forget(self, pull: Pull, next_step: int) -> None:
        """Take a pull back."""
        slot = self._end(pull)
        if slot is not None and self._counts(pull, next_step):
            odds = self._odds.item(slot)
            self._efforts.learn(self._changes[slot], -odds, -odds, self._strain.item(slot))

    def judge_anew(self, beliefs: ArmPosteriors, next_step: int) -> None:
        """Let each failure weigh what it would weigh by what is known now, but for what it said itself.

        As long as rewards are late, candidates seem worse than they are.
        """
        slots = np.array([slot for step, slot in self._slots.items() if step + self._window < next_step], dtype=np.intp)
        if not len(slots):
            return
        means, efforts = beliefs.means_without(self._picked[slots], self._executions[slots]), self._efforts
        weigh_anew(
            slots, means, self._changes, self._odds, self._strain, efforts.weights, efforts.information, efforts.target
        )
        efforts.solve()

    def state(self) -> dict[str, NDArray[Any]]:
        """Of the n pulls that are kept, by step: ``steps``, ``picked``, ``executions`` as they were picked, ``odds`` of
        a reward and ``efforts`` as they are reckoned with, (n,) each, and ``changes`` (n, D)."""
        slots = np.array(list(self._slots.values()), dtype=np.intp)
        return {
            "steps": np.array(list(self._slots), dtype=np.int64),
            "picked": self._picked[slots],
            "executions": self._executions[slots],
            "odds": self._odds[slots],
            "efforts": self._strain[slots],
            "changes": self._changes[slots],
        }

    def check(self, state: State, next_step: int) -> None:
        """Raise ``ValueError`` when a state is not one of as much memory, or of other candidates or steps."""
        steps, picked = state["steps"], state["picked"]
        count = len(steps)
        if count > self._memory or any(len(state[name]) != count for name in self.ARRAYS):
            raise ValueError(f"the state is not of {count} pulls, or of more than {self._memory}: it is another's")
        if count and not (steps[0] >= 0 and steps[-1] < next_step and (np.diff(steps) > 0).all()):
            raise ValueError("the state's steps are not in order: it is damaged")
        if count and not 0 <= picked.min() <= picked.max() < self._candidates:
            raise ValueError(f"the state's picks are not of {self._candidates} candidates: it is another's")

    def restore(self, state: State) -> None:
        """Continue from a state of as much memory."""
        steps = state["steps"].tolist()
        count = len(steps)
        self._slots = dict(zip(steps, range(count), strict=True))
        self._free = list(range(count, self._memory))
        self._picked[:count], self._executions[:count] = state["picked"], state["executions"]
        self._odds[:count], self._strain[:count], self._changes[:count] = (
            state[name] for name in ("odds", "efforts", "changes")
        )

    def _end(self, pull: Pull) -> int | None:
        slot = self._slots.get(pull.step)
        if slot is None or self._picked[slot] != pull.candidate:
            return None
        del self._slots[pull.step]
        self._free.append(slot)
        return slot

    def _counts(self, pull: Pull, next_step: int) -> bool:
        return pull.step + self._window < next_step


@compiled
def weigh_anew(
    slots: NDArray[np.intp],
    means: Array,
    changes: Array,
    odds: Array,
    efforts: Array,
    weights: Array,
    information: Array,
    target: Array,
) -> None:
    """Put failures, of candidates with these means, in the place of what was reckoned of them before, in place."""
    for i in range(len(slots)):
        slot = slots[i]
        effort = 0.0
        for d in range(len(weights)):
            effort += weights[d] * changes[slot, d]
        expected = min(means[i] * math.exp(-effort), SUREST)
        now, before = expected / (1.0 - expected), odds[slot]
        push = now * (1.0 + effort) - before * (1.0 + efforts[slot])
        for a in range(len(weights)):
            target[a] += changes[slot, a] * push
            for b in range(a + 1):
                information[a, b] += (now - before) * changes[slot, a] * changes[slot, b]
        odds[slot], efforts[slot] = now, effort
