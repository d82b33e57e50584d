"""The expected utility of selection, by which the paper compares sets of plans."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onward.agents.costs.responses import Response

Array = NDArray[np.float64]


def expected_utility_of_selection(costs: Array, probability: Array, response: Response) -> float:
    r"""The expected utility $-C$ of the plan that a person picks from a set (equation 9).

    Where people pick the cheapest it is the negative expected minimum cost.

    Parameters
    ----------
    costs
        Those of k plans under S samples, (k, S).
    probability
        That of each sample, (S,).

    Examples
    --------
    >>> from onward.agents.costs.responses import LogisticResponse, Noiseless
    >>> costs, even = np.array([[1.0, 4.0], [2.0, 2.0]]), np.array([0.5, 0.5])
    >>> round(expected_utility_of_selection(costs, even, Noiseless(slip=1e-9)), 2)
    -1.5
    >>> round(expected_utility_of_selection(costs, even, LogisticResponse()), 2)
    -1.79

    References
    ----------
    Viappiani, P. and Boutilier, C. (2020). On the Equivalence of Optimal Recommendation Sets and Myopically Optimal
    Query Sets. Artificial Intelligence 286.
    """
    picked = (response.probability(costs) * costs).sum(axis=0)
    return -float(picked @ probability)
