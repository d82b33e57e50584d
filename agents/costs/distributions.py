"""The three distributions of cost functions of the paper on expected minimum cost."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .contract import Array
from .sampled import SampledCost


class LinearCost(SampledCost):
    """D_lin: every step of the way to the end of a feature's range is as hard.

    Examples
    --------
    >>> from onward.agents.costs import Columns
    >>> columns, rows = Columns(np.arange(2), np.array([True, True])), np.linspace(0.0, 1.0, 11)[:, None] * np.ones(2)
    >>> cost = LinearCost(columns, rows, samples=4, seed=0)
    >>> person, target = np.array([[0.5, 0.5]]), np.array([[0.75, 0.5]])
    >>> cost.costs(cost.shifts(target, person, np.array([0]), np.array([0]))).round(2)
    array([[ inf, 0.2 ,  inf, 0.08]])
    """

    name: ClassVar[str] = "linear"

    @staticmethod
    def linear_share(weight: Array) -> Array:
        """All of it."""
        return np.ones_like(weight)


class PercentileCost(SampledCost):
    """D_perc: a change is as hard as the share of the population that it passes."""

    name: ClassVar[str] = "percentile"

    @staticmethod
    def linear_share(weight: Array) -> Array:
        """Nothing."""
        return np.zeros_like(weight)


class MixedCost(SampledCost):
    """D_mix: some people count steps, others compare themselves, most do some of both."""

    name: ClassVar[str] = "mixed"

    @staticmethod
    def linear_share(weight: Array) -> Array:
        """Uniform between nothing and all."""
        return weight
