"""Vowpal Wabbit's cb_explore_adf, exploring by epsilon-greedy, with features of the person and of each candidate.

Runs in an environment of its own.
"""

from __future__ import annotations

import numpy as np
from vowpalwabbit import Workspace

from onward.benchmarks.arena.decisions import Decisions, Floats, Indices, main

OPTIONS = "--cb_explore_adf --epsilon 0.1 --quadratic ua --quiet --random_seed 0"


class VowpalWabbit:
    """A feasible candidate is an action; its number is a feature too, so that it can be learned by itself."""

    def __init__(self, decisions: Decisions) -> None:
        self._workspace = Workspace(OPTIONS)
        self._random = np.random.default_rng(0)
        self._actions = [f"|a k{k}=1 {_features(point)}" for k, point in enumerate(decisions.points)]
        self._feasible: list[int] = []
        self._probability = 1.0

    def choose(self, person: Floats, feasible: Indices) -> int:
        """Draw from the distribution that it predicts."""
        self._feasible = feasible.tolist()
        predicted = np.array(self._workspace.predict(self._examples(person)))
        at = int(self._random.choice(len(predicted), p=predicted / predicted.sum()))
        self._probability = float(predicted[at])
        return self._feasible[at]

    def learn(self, person: Floats, k: int, reward: float) -> None:
        """Learn the cost, -reward, of the last action."""
        examples = self._examples(person)
        at = 1 + self._feasible.index(k)
        examples[at] = f"0:{-reward}:{self._probability} {examples[at]}"
        self._workspace.learn(examples)

    def _examples(self, person: Floats) -> list[str]:
        return [f"shared |u {_features(person)}", *(self._actions[k] for k in self._feasible)]


def _features(values: Floats) -> str:
    return " ".join(f"{name}:{value:.6g}" for name, value in zip("bcdefghijlmno", values.tolist(), strict=True))


if __name__ == "__main__":
    main(VowpalWabbit)
