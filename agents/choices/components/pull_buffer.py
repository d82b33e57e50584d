"""The last picks as rows that a model of the reward can be fitted on."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..contract import Array, State

NO_STEP = -1
"""The step of a row that was taken back: no reward can come for it."""


def pairs_of(person: Array, points: Array) -> Array:
    """A person (D,), or one a candidate (F, D), beside the changes to candidates (F, D): (F, 2 D)."""
    count, columns = points.shape
    pairs = np.empty((count, 2 * columns))
    pairs[:, :columns] = person
    np.subtract(points, person, out=pairs[:, columns:])
    return pairs


class Rows:
    """At most ``memory`` picks: who, which candidate, and the reward, 0 until one comes. The oldest goes first.

    A row keeps its place, its *slot*, for life; the next one to come takes the slot of the oldest.

    Parameters
    ----------
    points
        The candidates, shape (K, D).
    memory
        How many rows are kept.
    """

    ARRAYS: ClassVar[frozenset[str]] = frozenset({"people", "candidates", "steps", "rewards", "kept"})
    """The arrays of its state; they get longer until there are ``memory`` rows."""

    def __init__(self, points: Array, memory: int) -> None:
        self._points = points
        self._digest = np.frombuffer(sha256(points.tobytes()).digest(), dtype=np.uint8)
        self._memory = memory
        self._came = 0
        self._people = np.empty((memory, points.shape[1]))
        self._candidates = np.empty(memory, dtype=np.int32)
        self._steps = np.empty(memory, dtype=np.int64)
        self._kept = np.zeros(memory, dtype=np.bool_)
        self._pairs = np.empty((memory, 2 * points.shape[1]))
        self._rewards = np.zeros(memory)
        self._slots: dict[int, int] = {}
        self.successes = 0

    def __len__(self) -> int:
        return min(self._came, self._memory)

    @property
    def pairs(self) -> Array:
        """Person and change of every row, shape (n, 2 D), by slot."""
        return self._pairs[: len(self)]

    @property
    def rewards(self) -> Array:
        """The reward of every row, shape (n,)."""
        return self._rewards[: len(self)]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which rows count, shape (n,): all but those taken back."""
        return self._kept[: len(self)]

    @property
    def next_slot(self) -> int:
        """Where the next row will stand; a row that stands there goes."""
        return self._came % self._memory

    def slot(self, step: int, candidate: int) -> int | None:
        """Where the row of a step stands, None when it is not known or not known any more."""
        slot = self._slots.get(step)
        return None if slot is None or self._candidates[slot] != candidate else slot

    def append(self, step: int, person: Array, candidate: int) -> int:
        """Add a row of reward 0 in the place of the oldest, and tell its slot."""
        slot = self.next_slot
        self.drop(slot)
        self._came += 1
        self._people[slot], self._candidates[slot], self._steps[slot] = person, candidate, step
        self._pairs[slot] = pairs_of(person, self._points[candidate : candidate + 1])
        self._kept[slot] = True
        self._slots[step] = slot
        return slot

    def reward(self, slot: int, reward: float) -> None:
        """Give a row its reward."""
        self.successes += (reward > 0) - bool(self._rewards[slot] > 0)
        self._rewards[slot] = reward

    def drop(self, slot: int) -> None:
        """Let a row count no more."""
        if self._kept[slot]:
            self.reward(slot, 0.0)
            self._slots.pop(int(self._steps[slot]), None)
            self._steps[slot], self._kept[slot] = NO_STEP, False

    def shed(self, left: int) -> None:
        """Let all but the newest ``left`` rows go, and begin again at slot 0."""
        newest = np.arange(self._came - left, self._came) % self._memory
        state = self.state()
        self.restore({name: state[name][newest] for name in self.ARRAYS} | {"came": np.array(left)})

    def state(self) -> dict[str, NDArray[Any]]:
        """``people`` (n, D), ``candidates``, ``steps``, ``rewards`` and ``kept`` (n,) by slot; how many ``came``
        (); and what tells the candidates from others, ``points`` (32,)."""
        count = len(self)
        return {
            "people": self._people[:count].copy(),
            "candidates": self._candidates[:count].copy(),
            "steps": self._steps[:count].copy(),
            "rewards": self._rewards[:count].copy(),
            "kept": self._kept[:count].copy(),
            "came": np.array(self._came, dtype=np.int64),
            "points": self._digest.copy(),
        }

    def check(self, state: State) -> None:
        """Raise ``ValueError`` when a state is of other candidates or another memory."""
        if not np.array_equal(state["points"], self._digest):
            raise ValueError("the state is of other candidates: it is another's")
        expected = min(int(state["came"]), self._memory)
        if any(len(state[name]) != expected for name in self.ARRAYS):
            raise ValueError(f"the state is not of {expected} rows, as it says: it is another's")

    def restore(self, state: State) -> None:
        """Continue from a state of as many candidates and as much memory."""
        self._came = int(state["came"])
        count = len(self)
        people, candidates = state["people"], state["candidates"]
        self._people[:count], self._candidates[:count] = people, candidates
        self._steps[:count], self._kept[:count] = state["steps"], state["kept"]
        self._rewards[:count] = state["rewards"]
        self._kept[count:], self._rewards[count:] = False, 0.0
        self._pairs[:count] = pairs_of(people, self._points[candidates])
        self._slots = {int(step): slot for slot, step in enumerate(state["steps"]) if step != NO_STEP}
        self.successes = int(np.count_nonzero(self._rewards[:count] > 0))
