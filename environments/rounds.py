"""The score of a policy in a world, from its decisions alone."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


class Worth(NamedTuple):
    """What a suggestion is worth: the probability that it is carried out and improves the person (``reward``), the
    probability that it improves them, once carried out, and its cost."""

    reward: float
    improvement: float
    cost: float


class ScoredWorld(Protocol):
    """A world that knows what suggestions are worth.

    A suggestion is what the world takes: the number of an instance (``ImprovementWorld``), or the targets of the
    options of a recourse (``TruthWorld``).
    """

    def oracle(self, t: int) -> float:
        """The largest expected reward of a suggestion; 0 when there is none."""

    def worth(self, t: int, suggestion: Any, /) -> Worth:
        """What a suggestion to application t is worth."""


class ScorePoint(NamedTuple):
    """The score of the first ``rounds`` decisions, of which ``suggestions`` were not for nothing.

    ``mer``, the mean expected reward, and ``oracle_mer`` are means over all decisions; a decision for nothing counts 0.
    ``improvement`` and ``cost`` are means over the suggestions, None without any. ``regret`` is a sum.
    """

    rounds: int
    mer: float
    improvement: float | None
    cost: float | None
    regret: float
    oracle_mer: float
    suggestions: int


class Scoreboard:
    """Adds up what a policy's decisions are worth.

    mer = mean of the expected rewards, improvement = mean of the probabilities of improving, cost = mean l1 cost,
    regret = sum of (oracle - expected reward).

        board = Scoreboard(world)
        board.record(0, 17)
        board.record(1, None)
        board.now.mer

    ``curve`` holds a point every ``every`` decisions.
    """

    def __init__(self, world: ScoredWorld, every: int = 50) -> None:
        self._world = world
        self._every = every
        self._rounds = self._suggestions = 0
        self._reward = self._improvement = self._cost = self._oracle = 0.0
        self.curve: list[ScorePoint] = []

    def record(self, t: int, suggestion: Any, /) -> None:
        """Count the decision to suggest something (None: nothing) to application t."""
        self._rounds += 1
        self._oracle += self._world.oracle(t)
        if suggestion is not None:
            self._suggestions += 1
            worth = self._world.worth(t, suggestion)
            self._reward += worth.reward
            self._improvement += worth.improvement
            self._cost += worth.cost
        if self._rounds % self._every == 0:
            self.curve.append(self.now)

    @property
    def now(self) -> ScorePoint:
        """The score so far; 0 before the first decision."""
        n, served = max(1, self._rounds), self._suggestions
        return ScorePoint(
            rounds=self._rounds,
            mer=self._reward / n,
            improvement=self._improvement / served if served else None,
            cost=self._cost / served if served else None,
            regret=self._oracle - self._reward,
            oracle_mer=self._oracle / n,
            suggestions=served,
        )
