"""The rewards that are expected of candidates, learned along a log."""

from __future__ import annotations

import numpy as np

PRIOR = 2.0
"""Pulls, of execution probability 1, that the mean over all candidates counts as for each."""


class Expectation:
    r"""The reward of candidate k with execution probability e is $\theta_k e$, $\theta_k$ estimated by moments.

    $\hat\theta_k = (c\,\hat\theta + \sum r) / (c + \sum e)$ over the rewards of k that were learned, with
    $\hat\theta = (\tfrac{1}{2} c + \sum r) / (c + \sum e)$ over all of them and c pulls of prior.

    Examples
    --------
    >>> expectation = Expectation(2)
    >>> expectation.of(0, 0.8)
    0.4
    >>> expectation.learn(0, 0.8, 1.0)
    >>> expectation.of(0, 0.8) > expectation.of(1, 0.8) > 0.4
    True
    """

    def __init__(self, candidates: int) -> None:
        self._rewards = np.zeros(candidates)
        self._executions = np.zeros(candidates)
        self._all_rewards = self._all_executions = 0.0

    def of(self, candidate: int, execution: float) -> float:
        """What is expected now, in [0, 1]."""
        common = (0.5 * PRIOR + self._all_rewards) / (PRIOR + self._all_executions)
        rewards, executions = self._rewards.item(candidate), self._executions.item(candidate)
        return min(1.0, (PRIOR * common + rewards) / (PRIOR + executions) * execution)

    def learn(self, candidate: int, execution: float, reward: float) -> None:
        """Learn a reward in [0, 1]."""
        self._rewards[candidate] += reward
        self._executions[candidate] += execution
        self._all_rewards += reward
        self._all_executions += execution
