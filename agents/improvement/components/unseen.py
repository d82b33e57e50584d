"""How much what no column holds may be worth to single people: as much as what is seen at its strongest."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Array, Mask
from .coverage import LabelCoverage
from .ensemble import Ensemble

ROWS = 500
"""Rows by which columns are compared."""
SEED = 45
"""Beside that of training."""
GO_TOGETHER = 0.8
"""The least correlation, to either side, of columns that count as measures of the same thing."""
RESIDUAL = math.pi**2 / 3.0
"""The variance of a logistic distribution: of all that columns leave open of an outcome, or of who gets a label."""
MOST = RESIDUAL / 2.0
"""The largest variance of an unseen cause: at least as much of what columns leave open is luck."""


def unseen_deviation(ensemble: Ensemble, X: Array, seed: int, coverage: LabelCoverage | None = None) -> float | None:
    r"""The standard deviation of what no column holds, in log odds, by encoded rows (n, D); None without bags.

    It is taken to be as strong as the strongest measure, as the bag sees it that finds it strongest: a column with
    those that go with it, such as others of the same thing. Its share of the variance is half of the mean square by
    which the log odds change where these values are those of another row: its total effect. It is at most ``MOST``.

    Where not everybody has a label, ``coverage`` says who does, and whoever approved may have known more. What columns
    leave open of who gets a label is logistic, and all of it may be knowledge of the outcome, on the same scale. So its
    variance is added. Among people who were approved columns seem weaker than they are, as who is weak in one is strong
    in others. So the strongest measure is that of the labels or that of who gets one, whichever is stronger.

    References
    ----------
    Jansen, M. (1999). Analysis of variance designs for model output. Computer Physics Communications.
    Cinelli, C. and Hazlett, C. (2020). Making sense of sensitivity: extending omitted variable bias. Journal of the
    Royal Statistical Society B. An unseen cause is bounded by how strong the seen ones are.
    """
    random = np.random.RandomState([seed, SEED])
    rows = X[random.permutation(len(X))[:ROWS]]
    unchanged, largest = ensemble.by_bag(rows), 0.0
    if unchanged is None:
        return None
    measures = _measures(X)
    for columns in measures:
        others = rows.copy()
        others[:, columns] = rows[random.permutation(len(rows))][:, columns]
        after = ensemble.by_bag(others)
        assert after is not None, "bags of some rows are those of others"
        largest = max(largest, float(((after - unchanged) ** 2).mean(axis=1).max()) / 2.0)
    if coverage is None:
        return math.sqrt(min(largest, MOST))
    of_who = [float(np.var(rows[:, columns] @ coverage.weights[columns])) for columns in measures]
    return math.sqrt(min(max(largest, *of_who), MOST) + RESIDUAL)


def _measures(X: Array) -> Mask:
    """Each column of rows (n, D) with those that go with it, as masks (M, D), each once; none that is the same in all
    rows."""
    varies = np.flatnonzero(np.ptp(X, axis=0) > 0.0)
    if not len(varies):
        return np.zeros((0, X.shape[1]), dtype=np.bool_)
    together = np.zeros((X.shape[1], X.shape[1]))
    together[np.ix_(varies, varies)] = np.abs(np.corrcoef(X[:, varies], rowvar=False)) >= GO_TOGETHER
    return np.unique(together[varies] > 0.0, axis=0)
