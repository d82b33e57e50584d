"""Truths: who has the desired outcome as a function of features, and whether a change improves a person."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier

from ...agents.arrays import Array, Mask
from ...schemas.encoding import FeatureCodec
from ...schemas.table import Table
from ..population import CAUSES, repayment_probability


class Truth(Protocol):
    """Who has the desired outcome, as a function of features: the data-generating process of a world.

    The program's model never sees it, only labels drawn from it.
    """

    def probability(self, X: Array) -> Array:
        """The probability (n,) of the desired outcome of people with encoded features (n, D)."""


class TrueImprovement:
    r"""The probability that people without the desired outcome have it once they have changed.

    Let $p_0$ and $p_1$ be the truth's probabilities before and after. A person had the luck $U > p_0$, uniform, and
    has the desired outcome afterwards where their luck is at most $p_1$. With the probability ``luck_kept`` the luck
    is the same, else it is drawn again:

    $$P = \lambda \frac{\max(p_1 - p_0, 0)}{1 - p_0} + (1 - \lambda) p_1$$

    Parameters
    ----------
    truth
        The data-generating process.
    luck_kept
        Number $\lambda$ in [0, 1].
    ineffective
        The encoded columns (D,) whose changes have no effect: the truth sees the person's own values there.

    References
    ----------
    Pearl, J. (2009). Causality. Section 7.1: abduction, action, prediction; here with one uniform noise.
    """

    def __init__(self, truth: Truth, luck_kept: float, ineffective: Mask) -> None:
        self._truth, self._luck_kept, self._ineffective = truth, luck_kept, ineffective

    def __call__(self, before: Array, after: Array) -> Array:
        """The probabilities (P,) of people (P, D) who become ``after`` (P, D)."""
        p0 = self._truth.probability(before)
        p1 = self._truth.probability(np.where(self._ineffective, before, after))
        same = np.maximum(p1 - p0, 0.0) / np.maximum(1.0 - p0, np.finfo(np.float64).tiny)
        return self._luck_kept * same + (1.0 - self._luck_kept) * p1

    def without_effect_of(self, columns: Mask) -> TrueImprovement:
        """The same where changes of these encoded columns (D,) have no effect either."""
        return TrueImprovement(self._truth, self._luck_kept, self._ineffective | columns)


class Repayment:
    """The probability that a generated applicant repays.

    Parameters
    ----------
    codec
        That of the spec at ``population.SPEC``, or of one with the same features.
    """

    def __init__(self, codec: FeatureCodec) -> None:
        self._codec = codec
        self._index = {feature.name: index for index, feature in enumerate(codec.spec.features)}

    def probability(self, X: Array) -> Array:
        """The probability of repayment (n,) of encoded people (n, D)."""
        codes = self._codec.codes(X)
        columns: dict[str, NDArray[np.generic]] = {name: codes[:, self._index[name]] for name in CAUSES}
        for name in ("dependants", "housing"):
            index = self._index[name]
            categories = np.array(self._codec.spec.features[index].categories)
            columns[name] = categories[codes[:, index].astype(np.intp)]
        return repayment_probability(columns)


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
