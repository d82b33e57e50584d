"""Drawn programs of four features, with people and instances on a small grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...agents.arrays import Array, Mask
from ...agents.candidates import CandidateGenerator, Mutable, Proposals, Ranges, Space
from ...agents.costs import L1
from ...agents.goals import ThresholdGoal
from ...agents.objective import Objective
from ...agents.scores import Score
from ..spaces import scaled_space

FEATURE_OF = np.array([0, 1, 2, 2, 3])
COLUMNS = len(FEATURE_OF)
SMALLEST = 0.5
PEOPLE = 8
GOAL = ThresholdGoal(0.25)


@dataclass(frozen=True)
class Logistic:
    """A linear score, which gives a row the same bits alone and in a batch."""

    weights: Array
    bias: float

    def __call__(self, X: Array) -> Array:
        """The scores of encoded rows (n, D), (n,)."""
        scores: Array = 1.0 / (1.0 + np.exp(-((X * self.weights).sum(axis=1) + self.bias)))
        return scores


LOGISTIC = Logistic(np.array([0.0, 1.0, 0.8, 0.0, 2.5]), -2.5)


def curved(X: Array) -> Array:
    """Two features decide, and help each other."""
    scores: Array = 0.6 * X[:, 4] + 0.3 * X[:, 1] * X[:, 4] + 0.2 * X[:, 2]
    return scores


def score_of(kind: type[CandidateGenerator], seed: int) -> Score:
    """A linear score for those who need one, and for every other seed."""
    if kind.needs_linear_score or seed % 2:
        return LOGISTIC
    return curved


def keeps_together(X: Array) -> Mask:
    """A cross-feature constraint: who lives in the first kind of housing has an income."""
    kept: Mask = (X[:, 2] < 0.5) | (X[:, 1] > 0.2)
    return kept


def rows(random: np.random.Generator, count: int) -> Array:
    """Encoded rows of which people and instances often agree; the third feature is one-hot."""
    found = random.choice([0.0, 0.25, 0.5, 1.0], (count, COLUMNS))
    found[:, 3] = 1.0 - (found[:, 2] > 0.5)
    found[:, 2] = 1.0 - found[:, 3]
    return found


def drawn_ranges(random: np.random.Generator, features: int, one_hot: int) -> Ranges:
    """Bounds of 0 and 1, and largest changes, absolute and relative, of some of the features."""
    free = Ranges.from_bounds(np.zeros(features), np.ones(features))
    change, share = (random.choice([0.3, 0.5, np.inf, np.inf], features) for _ in range(2))
    change[one_hot] = share[one_hot] = np.inf
    return free._replace(largest_change=change, largest_share=share)


def drawn_mutable(random: np.random.Generator) -> list[Mutable]:
    """In which directions the four features may change: the one-hot one has no direction."""
    kinds: list[Mutable] = ["none", "up", "down", "any", "any"]
    mutable = [kinds[k] for k in random.integers(0, len(kinds), 4)]
    mutable[2] = "any" if mutable[2] in ("up", "down") else mutable[2]
    return mutable


def drawn(kind: type[CandidateGenerator], seed: int, instances: int) -> tuple[CandidateGenerator, Space, Array]:
    """A generator under a model, and people; with seed 0 nothing can change of anybody."""
    random = np.random.default_rng(seed)
    mutable = drawn_mutable(random) if seed else list[Mutable](["none"] * 4)
    smallest = np.where(random.random(4) < 0.3, SMALLEST, 0.0)
    smallest[2] = 0.0
    names = ("age", "income", "housing", "debt")
    most = (None, 1, 2)[random.integers(3)]
    space = scaled_space(FEATURE_OF, mutable, smallest, most, names, keeps_together, drawn_ranges(random, 4, 2))
    generator = kind.build(space, rows(random, instances), Objective(L1()))
    return generator.under(score_of(kind, seed), GOAL), space, rows(random, PEOPLE)


def options_of(proposals: Proposals, person: int) -> list[tuple[int, bytes]]:
    """The arms and targets of a person, to the last bit."""
    options = proposals.subset(proposals.people == person)
    return [(arm, target.tobytes()) for arm, target in zip(options.arm.tolist(), options.targets, strict=True)]


def broken_rule(space: Space, person: Array, target: Array) -> str | None:
    """The rule of a feature, or of their number, that a target breaks; None where it keeps them."""
    changed, ranges = 0, space.ranges
    for feature, mutable in enumerate(space.mutable):
        change, name = (target - person)[feature == FEATURE_OF], space.feature_names[feature]
        if not change.any():
            continue
        changed += 1
        size, own = np.abs(change[change != 0]).min(), np.abs(person[feature == FEATURE_OF]).max()
        allowed = {"none": False, "any": True, "up": (change >= 0).all(), "down": (change <= 0).all()}[mutable]
        relative = ranges.largest_share[feature]
        largest = min(ranges.largest_change[feature], own * relative if own else 0.0 if np.isfinite(relative) else 1.0)
        if not allowed:
            return f"`space.mutable` of {name} is {mutable}"
        if size < space.smallest_change[feature] - 1e-9:
            return f"the change of {name} is below `space.smallest_change`, {space.smallest_change[feature]}"
        if np.abs(change).max() > largest + 1e-9:
            return f"the change of {name} is above `space.largest_changes`, {largest}"
        if (target[feature == FEATURE_OF] < 0.0).any() or (target[feature == FEATURE_OF] > 1.0).any():
            return f"{name} is outside `space.ranges`"
    if not changed:
        return "nothing changes"
    most = space.max_changes or len(space.mutable)
    return f"{changed} features change, and `space.max_changes` is {most}" if changed > most else None
