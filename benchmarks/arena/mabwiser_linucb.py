"""MABWiser's LinUCB: a ridge regression a candidate. Runs in an environment of its own."""

from __future__ import annotations

import numpy as np
from mabwiser.mab import MAB, LearningPolicy

from onward.benchmarks.arena.decisions import Decisions, Floats, Indices, main


class MABWiserLinUCB:
    """A candidate is an arm, the person the context. It scores all arms; the best feasible one is taken."""

    def __init__(self, decisions: Decisions) -> None:
        arms = list(range(len(decisions.points)))
        self._bandit = MAB(arms, LearningPolicy.LinUCB(alpha=1.0), seed=0)
        self._bandit.fit([0], [0.0], decisions.people[:1])

    def choose(self, person: Floats, feasible: Indices) -> int:
        """Score all arms."""
        expected = self._bandit.predict_expectations(person[None, :])
        return int(feasible[np.argmax([expected[k] for k in feasible.tolist()])])

    def learn(self, person: Floats, k: int, reward: float) -> None:
        """Update the arm."""
        self._bandit.partial_fit([k], [reward], person[None, :])


if __name__ == "__main__":
    main(MABWiserLinUCB)
