"""How far labels speak for people: the share of those like them for whom weighted rows with a label stand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, Mask
from ...sigmoid import logit, sigmoid

MOST_WEIGHT = 1.0
"""The most that a row with a label counts, as a multiple of what it would if people had labels by chance."""
LEAST_PROBABILITY = 1e-6


class LabelCoverage(NamedTuple):
    r"""The probability $\pi(x)$ that a row has a label, a logistic regression, beside the ``rate`` $\bar\pi$ of all.

    Inverse weights $\bar\pi / \pi(x)$ let rows with a label stand for those without. They are clipped at $W$, so that
    of the people like $x$ the share $c(x) = \min(1, W \pi(x) / \bar\pi)$ is stood for, and the others are not.
    ``weights`` are (D,).
    """

    weights: Array
    base: float
    rate: float

    def share(self, X: Array) -> Array:
        """The share c, (n,), of people like encoded rows (n, D) for whom rows with a label stand."""
        total = np.full(len(X), self.base)
        for column, weight in enumerate(self.weights):
            total += weight * X[:, column]
        return np.minimum(MOST_WEIGHT * sigmoid(total) / self.rate, 1.0)

    def shrunk(self, after: Array, before: Array, share: Array) -> Array:
        r"""The log odds (P,) of people with log odds ``before`` who become others of log odds ``after``, (P,) each.

        For the ``share`` (P,) of those like them labels say what becomes of them; of the others nothing is known, and
        they stay as probable as they are: $p = c(x')\, p(x') + (1 - c(x'))\, p(x)$. So what is claimed is the share $c$
        of the gain.

        References
        ----------
        Manski, C. (1989). Anatomy of the selection problem. Journal of Human Resources. The probability among all is
        the mixture of those who are seen and those who are not, by the share that is seen.
        """
        mixed = share * sigmoid(after) + (1.0 - share) * sigmoid(before)
        return logit(mixed, LEAST_PROBABILITY)


def first_of_runs(rows: Array) -> Mask:
    """Which rows (n, D) differ from the one before them, (n,); the first does."""
    first = np.ones(len(rows), dtype=np.bool_)
    np.any(rows[1:] != rows[:-1], axis=1, out=first[1:])
    return first
