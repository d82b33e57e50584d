"""The last pulls as rows that a model of the reward can be fitted on."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import Mask
from ..contract import Array, State

NO_STEP = -1
"""The step of a row that was taken back: no reward can come for it."""


def pairs_of(person: Array, targets: Array) -> Array:
    """A person (D,) beside the changes to each target (F, D): (F, 2 D)."""
    count, columns = targets.shape
    pairs = np.empty((count, 2 * columns))
    pairs[:, :columns] = person
    np.subtract(targets, person, out=pairs[:, columns:])
    return pairs


class PullBuffer:
    """At most ``memory`` pulls: person and change, arm, and the reward, 0 until one comes. The oldest goes first.

    A row stays in its *slot*. A new row takes the slot of the oldest.

    Parameters
    ----------
    points
        The arms, shape (K, D).
    memory
        The most rows that are kept.
    """

    ARRAYS: ClassVar[frozenset[str]] = frozenset({"pairs", "arms", "steps", "rewards", "kept"})
    """The arrays of its state; they get longer until there are ``memory`` rows."""

    OF_ARMS_ALONE: ClassVar[frozenset[str]] = frozenset({"digest"})
    """The arrays of its state that the rows do not change."""

    def __init__(self, points: Array, memory: int) -> None:
        self._digest = np.frombuffer(sha256(points.tobytes()).digest(), dtype=np.uint8)
        self._memory = memory
        self._appended = 0
        self._pairs = np.empty((memory, 2 * points.shape[1]))
        self._arms = np.empty(memory, dtype=np.int32)
        self._steps = np.empty(memory, dtype=np.int64)
        self._kept = np.zeros(memory, dtype=np.bool_)
        self._rewards = np.zeros(memory)
        self._columns: dict[str, NDArray[Any]] = {
            "pairs": self._pairs,
            "arms": self._arms,
            "steps": self._steps,
            "rewards": self._rewards,
            "kept": self._kept,
        }
        self._slots: dict[tuple[int, int], int] = {}  # by step and arm
        self.successes = 0

    def __len__(self) -> int:
        return min(self._appended, self._memory)

    @property
    def pairs(self) -> Array:
        """Person and change of every row, shape (n, 2 D), by slot."""
        return self._pairs[: len(self)]

    @property
    def rewards(self) -> Array:
        """The reward of every row, shape (n,)."""
        return self._rewards[: len(self)]

    @property
    def active(self) -> Mask:
        """The rows that count, all but those taken back, (n,)."""
        return self._kept[: len(self)]

    @property
    def next_slot(self) -> int:
        """The slot of the next row; its present row is overwritten."""
        return self._appended % self._memory

    def slot(self, step: int, arm: int) -> int | None:
        """The slot of a pull's row, None when there is none, or none any more."""
        return self._slots.get((step, arm))

    def append(self, step: int, arm: int, pair: Array) -> int:
        """Put a row (2 D,) of reward 0 into the slot of the oldest, and return the slot."""
        slot = self.next_slot
        self.drop(slot)
        self._appended += 1
        self._pairs[slot], self._arms[slot], self._steps[slot] = pair, arm, step
        self._kept[slot] = True
        self._slots[step, arm] = slot
        return slot

    def reward(self, slot: int, reward: float) -> None:
        """Set the reward of a row."""
        self.successes += (reward > 0) - bool(self._rewards[slot] > 0)
        self._rewards[slot] = reward

    def drop(self, slot: int) -> None:
        """Deactivate a row."""
        if self._kept[slot]:
            self.reward(slot, 0.0)
            self._slots.pop((self._steps.item(slot), self._arms.item(slot)), None)
            self._steps[slot], self._kept[slot] = NO_STEP, False

    def state(self) -> dict[str, NDArray[Any]]:
        """``pairs`` (n, 2 D), ``arms``, ``steps``, ``rewards`` and ``kept`` (n,) by slot; the number of rows that were
        ``appended`` (); and ``digest`` (32,), the SHA-256 of the arms."""
        rows = {name: column[: len(self)].copy() for name, column in self._columns.items()}
        return {**rows, "appended": np.array(self._appended, dtype=np.int64), "digest": self._digest.copy()}

    def check(self, state: State) -> None:
        """Raise ``ValueError`` when a state is of other arms or another memory."""
        if not np.array_equal(state["digest"], self._digest):
            raise ValueError("the state is of other arms: it is another's")
        expected = min(int(state["appended"]), self._memory)
        if any(len(state[name]) != expected for name in self.ARRAYS):
            raise ValueError(f"the state is not of {expected} rows, as it says: it is another's")

    def restore(self, state: State) -> None:
        """Continue from a state of the same arms and memory."""
        self._appended = int(state["appended"])
        count = len(self)
        for name, column in self._columns.items():
            column[:count] = state[name]
        self._kept[count:], self._rewards[count:] = False, 0.0
        pulls = zip(state["steps"].tolist(), state["arms"].tolist(), strict=True)
        self._slots = {pull: slot for slot, pull in enumerate(pulls) if pull[0] != NO_STEP}
        self.successes = int(np.count_nonzero(self._rewards[:count] > 0))
