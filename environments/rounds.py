"""The score of a policy in a world, from its decisions alone."""

from __future__ import annotations

from typing import NamedTuple

from .improvement import ImprovementWorld


class Point(NamedTuple):
    """Means over the first ``rounds`` decisions; ``mer`` is the mean expected reward, ``regret`` a sum."""

    rounds: int
    mer: float
    improvement: float
    cost: float
    regret: float
    oracle_mer: float


class Scoreboard:
    """Adds up the expected rewards of a policy's decisions.

    mer = mean of theta_noisy E, improvement = mean of theta, cost = mean l1 cost, regret = sum of (oracle - expected
    reward) over all decisions. A decision for nothing (no feasible instance) counts 0 in each.

        board = Scoreboard(world)
        board.record(0, 17)
        board.record(1, None)
        board.now.mer

    ``curve`` holds a point every ``every`` decisions.
    """

    def __init__(self, world: ImprovementWorld, every: int = 50) -> None:
        self._world = world
        self._every = every
        self._rounds = 0
        self._reward = self._improvement = self._cost = self._oracle = 0.0
        self.curve: list[Point] = []

    def record(self, t: int, k: int | None) -> None:
        """Count the decision to suggest instance k (None: nothing) to application t."""
        self._rounds += 1
        self._oracle += self._world.oracle(t)
        if k is not None:
            self._reward += self._world.expected_reward(t, k)
            self._improvement += self._world.improvement(t, k)
            self._cost += self._world.cost(t, k)
        if self._rounds % self._every == 0:
            self.curve.append(self.now)

    @property
    def now(self) -> Point:
        """The score so far; all 0 before the first decision."""
        n = max(1, self._rounds)
        return Point(
            rounds=self._rounds,
            mer=self._reward / n,
            improvement=self._improvement / n,
            cost=self._cost / n,
            regret=self._oracle - self._reward,
            oracle_mer=self._oracle / n,
        )
