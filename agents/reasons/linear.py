"""Contributions to a linear score: exact, and a product for each column."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, Indices
from ..scores import LinearScore


class LinearContributions:
    """The contributions to the log odds of a linear score: weight times (person - baseline).

    In a sum every order of the features gives the same differences, so these are the Shapley values.

    Parameters
    ----------
    score
        The score.
    baseline
        An encoded row, (D,).
    feature_of
        The feature of each column, (D,), ascending.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> score = SimpleNamespace(weights=np.array([2.0, -1.0, 1.0]), bias=0.0)
    >>> own = LinearContributions(score, np.array([0.5, 0.0, 1.0]), np.array([0, 1, 1]))
    >>> own.contributions_of(np.array([[0.25, 1.0, 0.0]])).tolist()
    [[-0.5, -2.0]]
    """

    def __init__(self, score: LinearScore, baseline: Array, feature_of: Indices) -> None:
        self._weights, self._baseline = score.weights, baseline
        self._starts = np.searchsorted(feature_of, np.arange(int(feature_of.max()) + 1))

    def contributions_of(self, people: Array) -> Array:
        """The contribution of each feature to the log odds, (n, F), of encoded people (n, D)."""
        return np.asarray(np.add.reduceat((people - self._baseline) * self._weights, self._starts, axis=1))
