"""The execution probability: the probability that a person carries a suggestion out."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


def execution_probability(cost: Array, nu: float) -> Array:
    """The probability exp(-nu cost) that a suggestion of this cost is carried out.

    It is 1 at cost 0 and falls by the factor 1/e with every 1/nu of cost. Equal costs give equal bits at any place in
    the array.

    Parameters
    ----------
    cost
        Costs of any shape, not negative.
    nu
        Not negative; the paper takes 1/D for the l1 cost of D encoded features.

    Examples
    --------
    >>> execution_probability(np.array([0.0, 2.0]), nu=0.5)
    array([1.        , 0.36787944])

    References
    ----------
    Kanamori, K., Kobayashi, K., Hara, S. and Takagi, T. (2025). Algorithmic Recourse for Long-Term Improvement. ICML.
    """
    return np.exp(-nu * cost)
