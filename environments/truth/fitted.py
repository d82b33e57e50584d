"""A fitted truth: a booster of all rows of a data set."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

from ...agents.arrays import Array
from ...schemas.table import Table

TREES = 100
DEPTH = 3
"""Effects of up to three features together, as in scikit-learn's default; deeper trees learn small data by heart."""
SUBSAMPLE = 0.5
LEAST_IN_LEAF = 20
"""A step of the truth rests on at least this number of people."""


class Fitted:
    """The probability of the desired outcome by gradient boosting on all rows.

    Real people and real relations between features, with a truth that is known. It is a function of the features
    alone: what the data do not record does not matter in this world.

    Parameters
    ----------
    table
        The data set.
    seed
        The seed of the booster.
    """

    def __init__(self, table: Table, *, seed: int) -> None:
        self._booster = GradientBoostingClassifier(
            n_estimators=TREES,
            max_depth=DEPTH,
            subsample=SUBSAMPLE,
            min_samples_leaf=LEAST_IN_LEAF,
            random_state=np.random.RandomState(seed),
        ).fit(table.X, table.labels)

    def probability(self, X: Array) -> Array:
        """The probability of the desired outcome (n,) of encoded people (n, D)."""
        if not len(X):
            return np.zeros(0)
        return np.asarray(self._booster.predict_proba(X)[:, 1])

    def relabelled(self, table: Table, *, seed: int) -> Table:
        """The same people with labels drawn from this truth, so that it is exactly the truth of these data."""
        drawn = np.random.default_rng(seed).random(len(table.labels)) < self.probability(table.X)
        return Table(table.rows, drawn.astype(np.int64), table.X)
