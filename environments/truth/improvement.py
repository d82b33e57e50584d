"""Whether a change improves a person: a probability of the features after it and before it."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...agents.arrays import Array, Mask


class Truth(Protocol):
    """Who has the desired outcome, as a function of features: the data-generating process of a world.

    The program's model never sees it, only labels drawn from it.
    """

    def probability(self, X: Array) -> Array:
        """The probability (n,) of the desired outcome of people with encoded features (n, D)."""


class Improvement:
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

    def without(self, columns: Mask) -> Improvement:
        """The same where changes of these encoded columns (D,) have no effect either."""
        return Improvement(self._truth, self._luck_kept, self._ineffective | columns)
