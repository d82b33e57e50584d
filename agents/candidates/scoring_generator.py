"""What generators have in common that score options themselves."""

from __future__ import annotations

from math import floor

import numpy as np

from ..costs import Cost
from ..goals import Goal
from .contract import CandidateGenerator, Mutable, Score, Space

OTHER: dict[Mutable, Mutable] = {"up": "down", "down": "up"}
"""The other direction of a feature that may go one way."""


class ScoringGenerator(CandidateGenerator):
    """A generator that asks the current model for the scores of its targets, and compares them by a cost.

    Parameters
    ----------
    space
        The rules of the features.
    cost
        What options are compared by.
    score, goal
        The current model, and what its score must reach. Without them nothing can be proposed.
    """

    def __init__(self, space: Space, cost: Cost, score: Score | None = None, goal: Goal | None = None) -> None:
        self.space, self._cost, self._score, self._goal = space, cost, score, goal

    def _model(self) -> tuple[Score, Goal]:
        assert self._score is not None, "call `under` before anything is proposed"
        assert self._goal is not None, "call `under` before anything is proposed"
        return self._score, self._goal


def in_words(score: float, goal: Goal) -> str:
    """A score, rounded down: .499 does not reach .50. One that only equals the goal's is said to be no more."""
    text = f"{floor(score * 100) / 100:.2f}"
    return f"{text}, not more" if text == f"{goal.required:.2f}" and not goal.reached(np.array(score)) else text


def either_way(space: Space, *features: int) -> Space:
    """The rules of the features, with some of them free to go both ways."""
    return space._replace(
        mutable=tuple("any" if number in features else rule for number, rule in enumerate(space.mutable))
    )


def help_by_direction(space: Space, feature: int) -> str:
    """That a feature's other direction would help, in words."""
    return f"; it would help if {space.feature_names[feature]} could also go {OTHER[space.mutable[feature]]}"


def help_by_changes(most_changes: int) -> str:
    """That more changes would help, in words."""
    return f"; it would help if {most_changes} features could change"
