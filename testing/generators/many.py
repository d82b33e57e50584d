"""Drawn programs of many features with fine steps, whose score counts the rows that it is asked for."""

from __future__ import annotations

import numpy as np

from ...agents.arrays import Array
from ...agents.candidates import CandidateGenerator, Mutable
from ...agents.costs import L1
from ...agents.goals import ThresholdGoal
from ...agents.objective import Objective
from ..spaces import SigmoidScore, scaled_space
from .small import drawn_ranges

MANY = 50
KINDS = 5
"""Numbers with a thousand steps each, and one feature of so many categories."""
FEATURE_OF = np.concatenate([np.arange(MANY), np.full(KINDS, MANY)])
INSTANCES = 60


class Bumps(SigmoidScore):
    """A line with steps, and pairs of features that help each other: what an ensemble of trees looks like."""

    def __call__(self, X: Array) -> Array:
        """The scores of encoded rows (n, D), (n,)."""
        return super().__call__(np.floor(X * 7) / 7 * (0.3 + np.roll(X, 1, axis=1)))


class Counted:
    """A score that counts the rows it is asked for."""

    def __init__(self, line: SigmoidScore) -> None:
        self._line, self.rows = line, 0
        if type(line) is SigmoidScore:  # else it is no linear score
            self.weights, self.bias = line.weights, line.bias

    def __call__(self, X: Array) -> Array:
        """The scores of encoded rows (n, D), (n,)."""
        self.rows += len(X)
        return self._line(X)


def drawn_weights(random: np.random.Generator) -> tuple[Array, float]:
    """The weights of the first few features, or of all of them, and a bias."""
    weights = random.normal(0, 2, len(FEATURE_OF))
    weights[random.integers(4, MANY) :] = 0.0
    return weights, float(random.uniform(-4, 0))


def rows(random: np.random.Generator, count: int) -> Array:
    """Encoded rows of thousandths, and a category."""
    return np.concatenate(
        [random.integers(0, 1001, (count, MANY)) / 1000, np.eye(KINDS)[random.integers(0, KINDS, count)]], axis=1
    )


def drawn(kind: type[CandidateGenerator], seed: int) -> tuple[CandidateGenerator, Counted, Array]:
    """A generator with many features and fine steps, its score, and people."""
    random, required = np.random.default_rng(seed), (0.2, 0.6, 0.99)[seed % 3]
    kinds: list[Mutable] = ["none", "up", "down", "any"]
    mutable = [kinds[k] for k in random.choice(4, MANY, p=[0.1, 0.2, 0.2, 0.5])]
    most, ranges = (None, 1, 2, 3, 4)[random.integers(5)], drawn_ranges(random, MANY + 1, MANY)
    space = scaled_space(FEATURE_OF, [*mutable, "any"], max_changes=most, ranges=ranges)
    weights, bias = drawn_weights(random)
    line = SigmoidScore(weights, bias) if kind.needs_linear_score else Bumps(weights, bias)
    instances = rows(random, 20 * INSTANCES)
    instances = instances[np.argsort(-line(instances), kind="stable")[:INSTANCES]]
    generator, counted = kind.build(space, instances, Objective(L1())), Counted(line)
    people = rows(random, 4)
    people = people[line(people) <= required]
    return generator.under(counted, ThresholdGoal(required)), counted, people
