"""Pulls whose outcome is not known yet, and their contribution to the change weights."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ..contract import Array, Pull, State
from .arm_posteriors import ArmPosteriors
from .change_weights import ChangeWeights

MAX_EXPECTED = 0.98
"""Expected rewards are clipped here, so that no single outcome determines the weights."""


class PendingPulls:
    """Adds the outcomes of pulls to the change weights: rewards, rewards of 0, and assumed failures.

    ``window`` steps after a pull without a reward, the pull is assumed to have failed. Its change is kept until its
    outcome is known, so that a late reward can turn the failure into a success, and ``retract`` can remove it.

    At most ``memory`` pulls are kept. While the buffer is full, new pulls do not contribute to the weights. Dropping
    the oldest instead would bias the weights: successes resolve early, so mostly failures would be dropped.
    """

    ARRAYS: ClassVar[frozenset[str]] = frozenset({"steps", "arms", "executions", "odds", "predictors", "changes"})

    def __init__(self, weights: ChangeWeights, arms: int, window: int, memory: int) -> None:
        self._weights, self._count, self._window, self._memory = weights, arms, window, memory
        self._slots: dict[int, dict[int, int]] = {}  # by step and arm
        self._free = list(range(memory))
        self._arms = np.zeros(memory, dtype=np.int64)
        self._executions, self._odds, self._predictors = (np.zeros(memory) for _ in range(3))
        self._changes = np.zeros((memory, len(weights.weights)))

    def add(self, step: int, arm: int, change: Array, mean: float, execution: float) -> None:
        """Keep a pull, whose probability of a reward is mean * execution."""
        if not self._free:
            return
        e = max(execution, math.ulp(0.0))
        expected = min(mean * e, MAX_EXPECTED)
        slot = self._free.pop()
        self._slots.setdefault(step, {})[arm] = slot
        self._arms[slot], self._changes[slot] = arm, change
        self._executions[slot], self._odds[slot], self._predictors[slot] = e, expected / (1.0 - expected), -math.log(e)

    def assume_failure(self, step: int) -> None:
        """Count the pulls that were made ``window`` steps before this step as failures until their outcome is known."""
        for slot in self._slots.get(step - self._window, {}).values():
            odds = self._odds.item(slot)
            self._weights.learn(self._changes[slot], odds, odds, self._predictors.item(slot))

    def reward(self, pull: Pull, reward: float, next_step: int) -> None:
        """Learn a pull's reward, in [0, 1]; ``next_step`` shows whether it is assumed to have failed."""
        slot = self._remove(pull)
        if slot is None:
            return
        change, odds = self._changes[slot], self._odds.item(slot)
        if not self._is_assumed_failure(pull, next_step):
            self._weights.learn(change, (1.0 - reward) * odds - reward, odds, self._predictors.item(slot))
        elif reward:
            self._weights.learn(change, -reward * (1.0 + odds), 0.0, 0.0)

    def retract(self, pull: Pull, next_step: int) -> None:
        """Take a pull back."""
        slot = self._remove(pull)
        if slot is not None and self._is_assumed_failure(pull, next_step):
            odds = self._odds.item(slot)
            self._weights.learn(self._changes[slot], -odds, -odds, self._predictors.item(slot))

    def reweight_failures(self, posteriors: ArmPosteriors, next_step: int) -> None:
        """Re-weight each assumed failure with current estimates, excluding its own contribution.

        While rewards are outstanding, arms seem worse than they are, and their failures likelier.
        """
        failed = (slots for step, slots in self._slots.items() if step + self._window < next_step)
        slots = np.array([slot for slots in failed for slot in slots.values()], dtype=np.intp)
        if not len(slots):
            return
        means = posteriors.means_without(self._arms[slots], self._executions[slots])
        sums = self._weights.information, self._weights.target
        reweight(slots, means, self._weights.weights, (self._changes, self._odds, self._predictors), sums)
        self._weights.solve()

    def state(self) -> dict[str, NDArray[Any]]:
        """The n pulls that are kept, by step: ``steps``, ``arms``, ``executions``, ``odds``, ``predictors`` (n,) and
        ``changes`` (n, D).

        ``executions`` are as of the pick. ``odds`` of a reward and ``predictors`` are as of the last re-weighting.
        """
        pulls = [(step, slot) for step, slots in self._slots.items() for slot in slots.values()]
        slots = np.array([slot for _, slot in pulls], dtype=np.intp)
        return {
            "steps": np.array([step for step, _ in pulls], dtype=np.int64),
            "arms": self._arms[slots],
            "executions": self._executions[slots],
            "odds": self._odds[slots],
            "predictors": self._predictors[slots],
            "changes": self._changes[slots],
        }

    def check(self, state: State, next_step: int) -> None:
        """Raise ``ValueError`` when a state is of another memory, of other arms or of later steps."""
        steps, arms = state["steps"], state["arms"]
        count = len(steps)
        if count > self._memory or any(len(state[name]) != count for name in self.ARRAYS):
            raise ValueError(f"the state is not of {count} pulls, or of more than {self._memory}: it is another's")
        if count and not (steps[0] >= 0 and steps[-1] < next_step and (np.diff(steps) >= 0).all()):
            raise ValueError("the state's steps are not in order: it is damaged")
        if count and not 0 <= arms.min() <= arms.max() < self._count:
            raise ValueError(f"the state's pulls are not of {self._count} arms: it is another's")

    def restore(self, state: State) -> None:
        """Continue from a state of the same memory."""
        steps = state["steps"].tolist()
        count = len(steps)
        self._slots = {}
        for slot, (step, arm) in enumerate(zip(steps, state["arms"].tolist(), strict=True)):
            self._slots.setdefault(step, {})[arm] = slot
        self._free = list(range(count, self._memory))
        self._arms[:count], self._executions[:count] = state["arms"], state["executions"]
        self._odds[:count], self._predictors[:count] = state["odds"], state["predictors"]
        self._changes[:count] = state["changes"]

    def _remove(self, pull: Pull) -> int | None:
        slots = self._slots.get(pull.step, {})
        slot = slots.pop(pull.arm, None)
        if slot is None:
            return None
        if not slots:
            del self._slots[pull.step]
        self._free.append(slot)
        return slot

    def _is_assumed_failure(self, pull: Pull, next_step: int) -> bool:
        return pull.step + self._window < next_step


@compiled
def reweight(
    slots: NDArray[np.intp],
    means: Array,
    weights: Array,
    pulls: tuple[Array, Array, Array],
    sums: tuple[Array, Array],
) -> None:
    """Replace the contributions of n failures to ``sums``, ``information`` and ``target``, in place.

    ``slots`` (n,) are their places in the arrays of ``pulls``, ``changes``, ``odds`` and ``predictors``; ``means`` (n,)
    are the posterior means of their arms.
    """
    changes, odds, predictors = pulls
    information, target = sums
    for i in range(len(slots)):
        slot = slots[i]
        predictor = 0.0
        for d in range(len(weights)):
            predictor += weights[d] * changes[slot, d]
        expected = min(means[i] * math.exp(-predictor), MAX_EXPECTED)
        now, before = expected / (1.0 - expected), odds[slot]
        difference = now * (1.0 + predictor) - before * (1.0 + predictors[slot])
        for a in range(len(weights)):
            target[a] += changes[slot, a] * difference
            for b in range(a + 1):
                information[a, b] += (now - before) * changes[slot, a] * changes[slot, b]
        odds[slot], predictors[slot] = now, predictor
