"""Contributions to any score, by asking it about mixtures of a person and the baseline.

Where few features part from the baseline, all their coalitions are asked about, which is exact. Else the features are
added to the baseline in sampled orders and in the reverse of each (antithetic permutation sampling, Mitchell et al.
2022): what a feature changes when it is added is an unbiased estimate, and the mean of both orders a less varying one.
Where that leaves in doubt which features are the foremost, more is asked.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Indices, Mask
from ..scores import Score
from .principal import MOST_REASONS

ORDERS, MORE_ORDERS = 24, 104
"""Sampled orders, each also taken in reverse; and how many more where that leaves doubt."""
MOST_ROWS, FEWEST_ORDERS = 4096, 2
"""Rows that are asked about for either, if that allows these orders: of many features fewer orders are taken."""
ALWAYS_EXACT, EXACT_IN_DOUBT = 8, 12
"""Features of which all coalitions are asked about, 256 rows; and those of which they are in doubt, 4096 rows."""
STANDARD_ERRORS = 2.0
"""By how many standard errors the last of the foremost features leads the next one, where there is no doubt."""
SEED = 1953
"""Of the sampled orders, which are the same for everybody with as many features to add."""
BLOCK_ROWS = 1024
"""Rows that are scored at once."""


class SampledContributions:
    """The contributions to the score of any model; the module says how.

    Parameters
    ----------
    score
        The scores of encoded rows.
    baseline
        An encoded row, (D,).
    feature_of
        The feature of each column, (D,), ascending.
    """

    def __init__(self, score: Score, baseline: Array, feature_of: Indices) -> None:
        self._score, self._baseline, self._feature_of = score, baseline, feature_of
        self._starts = np.searchsorted(feature_of, np.arange(int(feature_of.max()) + 1))

    def contributions_of(self, people: Array) -> Array:
        """The contribution of each feature to the score, (n, F), of encoded people (n, D)."""
        parted = np.logical_or.reduceat(people != self._baseline, self._starts, axis=1)
        contributions = np.zeros(parted.shape)
        for row, person, parts in zip(contributions, people, parted, strict=True):
            if features := np.flatnonzero(parts).tolist():
                row[features] = self._of_one(person, np.array(features))
        return contributions

    def _of_one(self, person: Array, features: Indices) -> Array:
        """The contributions of those features in which a person parts from the baseline."""
        count = len(features)
        if count <= ALWAYS_EXACT:
            return self._exact(person, features)
        sampled = self._sampled(person, features, orders_of(count, 0, affordable(count, ORDERS)))
        if not _is_in_doubt(sampled):
            return np.asarray(sampled.mean(axis=0))
        if count <= EXACT_IN_DOUBT:
            return self._exact(person, features)
        more = self._sampled(person, features, orders_of(count, ORDERS, affordable(count, MORE_ORDERS)))
        return np.asarray(np.concatenate([sampled, more]).mean(axis=0))

    def _exact(self, person: Array, features: Indices) -> Array:
        coalitions, estimate = all_coalitions(len(features))
        return np.asarray(estimate @ self._scores(person, features, coalitions))

    def _sampled(self, person: Array, features: Indices, orders: Orders) -> Array:
        """The estimate by each order and its reverse, (orders, features)."""
        gains = np.diff(self._scores(person, features, orders.coalitions)[orders.path], axis=2)
        both = np.empty_like(gains)
        np.put_along_axis(both, orders.order, gains, axis=2)
        return np.asarray(both.mean(axis=1))

    def _scores(self, person: Array, features: Indices, coalitions: Mask) -> Array:
        """The scores of the baseline with the person's values of these coalitions (R, d) of the features, (R,)."""
        scores = []
        for start in range(0, len(coalitions), BLOCK_ROWS):
            block = coalitions[start : start + BLOCK_ROWS]
            takes = np.zeros((len(block), len(self._starts)), dtype=bool)
            takes[:, features] = block
            scores.append(self._score(np.where(takes[:, self._feature_of], person, self._baseline)))
        return np.concatenate(scores)


def affordable(count: int, orders: int) -> int:
    """So many orders of ``count`` features, or as many as keep to ``MOST_ROWS``.

    Examples
    --------
    >>> affordable(12, ORDERS), affordable(200, ORDERS), affordable(4000, ORDERS)
    (24, 10, 2)
    """
    return min(orders, max(FEWEST_ORDERS, MOST_ROWS // (2 * count)))


class Orders(NamedTuple):
    """Orders of d features, each with its reverse, ``order`` (orders, 2, d).

    ``coalitions`` (R, d) are the different ones that they pass through, and ``path`` (orders, 2, d + 1) which of these
    stand before the first feature and after each.
    """

    order: Indices
    coalitions: Mask
    path: Indices


@cache
def orders_of(count: int, first: int, number: int) -> Orders:
    """So many sampled orders of ``count`` features, from the ``first`` of an endless sequence on."""
    random = np.random.default_rng([SEED, count, first])
    forward = np.stack([random.permutation(count) for _ in range(number)])
    order = np.stack([forward, forward[:, ::-1]], axis=1)
    place = np.argsort(order, axis=2)
    passed = place[:, :, np.newaxis, :] < np.arange(count + 1)[:, np.newaxis]
    coalitions, path = np.unique(passed.reshape(-1, count), axis=0, return_inverse=True)
    return Orders(order, coalitions, path.reshape(number, 2, count + 1))


@cache
def all_coalitions(count: int) -> tuple[Mask, Array]:
    """All coalitions of ``count`` features, (R, d), and the matrix (d, R) that makes Shapley values of their scores."""
    codes: NDArray[np.int64] = np.arange(1 << count)
    coalitions = (codes[:, np.newaxis] >> np.arange(count)) & 1 == 1
    size = coalitions.sum(axis=1)
    # (s-1)! (d-s)! / d! for those that hold the feature, -s! (d-s-1)! / d! for the others, by the size s: each the
    # inverse of d times a binomial.
    binomial = np.ones(count)
    for smaller in range(1, count):
        binomial[smaller] = binomial[smaller - 1] * (count - smaller) / smaller
    weight = 1.0 / (count * binomial)
    gains, losses = weight[np.maximum(size - 1, 0)], weight[np.minimum(size, count - 1)]
    return coalitions, np.where(coalitions.T, gains, -losses)


def _is_in_doubt(sampled: Array) -> bool:
    """Whether estimates (orders, d) leave open which features lower the score the most."""
    mean = sampled.mean(axis=0)
    last, following = np.argsort(mean, kind="stable")[MOST_REASONS - 1 : MOST_REASONS + 1]
    lead = sampled[:, following] - sampled[:, last]
    return bool(lead.mean() < STANDARD_ERRORS * lead.std() / np.sqrt(len(lead)))
