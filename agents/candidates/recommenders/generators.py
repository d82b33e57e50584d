"""The recommenders by the names that a program spec's ``policy.generator`` uses."""

from __future__ import annotations

from typing import ClassVar

from ..contract import Array
from .contract import Recommender
from .generator import RecommenderGenerator
from .maximal_success import MaximalSuccess
from .minimal_l1 import MinimalL1
from .minimal_l2 import MinimalL2


class MinimalL2Generator(RecommenderGenerator):
    """Plans of ``MinimalL2``: many features change a little."""

    name: ClassVar[str] = MinimalL2.name

    def recommender(self, difficulty: Array, beta: float) -> Recommender:  # noqa: ARG002
        """The projection, whatever the difficulties."""
        return MinimalL2()


class MinimalL1Generator(RecommenderGenerator):
    """Plans of ``MinimalL1``: the cheapest by the features' difficulties."""

    name: ClassVar[str] = MinimalL1.name

    def recommender(self, difficulty: Array, beta: float) -> Recommender:  # noqa: ARG002
        """The knapsack with these costs."""
        return MinimalL1(difficulty)


class MaximalSuccessGenerator(RecommenderGenerator):
    """Plans of ``MaximalSuccess``: those that people most probably carry out."""

    name: ClassVar[str] = MaximalSuccess.name

    def recommender(self, difficulty: Array, beta: float) -> Recommender:
        """Joint success with theta = beta / d."""
        return MaximalSuccess(beta / difficulty)
