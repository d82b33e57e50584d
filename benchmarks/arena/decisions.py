"""The same decisions for every learner: people, feasible candidates, and outcomes.

People and candidates have 13 columns between 0 and 1, three of them yes or no and immutable, as in the paper's credit
data. A candidate is feasible for those who have its three. Everything is drawn beforehand.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

COLUMNS, IMMUTABLE = 13, 3
DELAY = 0.2
YES = (0.5, 0.9, 0.72)
"""The share of 1 in each immutable column, so that a quarter of the candidates is feasible, as in that data."""
LARGEST_CHANGE = 0.4
"""Most changes are small, as in real data."""


class Decisions(NamedTuple):
    """T people (T, D), K candidates (K, D), whether each can become each (T, K), the execution probability and the
    chance of a reward of each (T, K), and each person's uniform and delay (T,)."""

    people: Floats
    points: Floats
    feasible: NDArray[np.bool_]
    execution: Floats
    chance: Floats
    uniform: Floats
    delay: NDArray[np.int64]

    def save(self, path: Path) -> None:
        """Write them all, for another process."""
        arrays: dict[str, Any] = self._asdict()
        np.savez(path, **arrays)


class Rival(Protocol):
    """A learner of another library."""

    def choose(self, person: Floats, feasible: Indices) -> int:
        """Pick one of the feasible candidates, of which there is at least one."""

    def learn(self, person: Floats, k: int, reward: float) -> None:
        """Learn the reward of a pick."""


def draw(seed: int, people: int, candidates: int) -> Decisions:
    """The decisions of a seed."""
    random = np.random.default_rng(seed)
    X, points = (_rows(random, count) for count in (people, candidates))
    cost = np.abs(X[:, None, :] - points[None, :, :]).sum(axis=2)
    execution = np.exp(-cost / COLUMNS)
    feasible = (X[:, None, :IMMUTABLE] == points[None, :, :IMMUTABLE]).all(axis=2)
    theta = np.clip((random.random(candidates) < 0.8) + 0.1 * random.standard_normal(candidates), 0.0, 1.0)
    uniform, delay = random.random(people), random.geometric(DELAY, people)
    return Decisions(X, points, feasible, execution, execution * theta, uniform, delay)


def load(path: Path) -> Decisions:
    """What ``save`` wrote."""
    with np.load(path) as stored:
        return Decisions(**stored)


def serve(rival: Rival, decisions: Decisions) -> float:
    """Mean processor seconds of a decision: choosing, and learning its reward once."""
    spent = 0.0
    for t, person in enumerate(decisions.people):
        feasible = np.flatnonzero(decisions.feasible[t])
        if not len(feasible):
            continue
        started = time.process_time()
        k = rival.choose(person, feasible)
        reward = float(decisions.uniform[t] < decisions.chance[t, k])
        rival.learn(person, k, reward)
        spent += time.process_time() - started
    return spent / len(decisions.people)


def main(make: Callable[[Decisions], Rival]) -> None:
    """The program of a rival: decisions from the file of the command line, microseconds a decision as JSON."""
    decisions = load(Path(sys.argv[1]))
    print(json.dumps(serve(make(decisions), decisions) * 1e6))


def _rows(random: np.random.Generator, count: int) -> Floats:
    rows = random.random((count, COLUMNS)) * LARGEST_CHANGE
    rows[:, :IMMUTABLE] = random.random((count, IMMUTABLE)) < YES
    return rows
