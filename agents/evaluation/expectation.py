"""Expected rewards of arms, learned along a log."""

from __future__ import annotations

import numpy as np

PRIOR = 2.0
"""The weight of the mean over all arms in the estimate of each, in pulls of execution probability 1."""


class Expectation:
    r"""The expected reward of arm k with execution probability e is $\theta_k e$, $\theta_k$ estimated by moments.

    $\hat\theta_k = (c\,\hat\theta + \sum r) / (c + \sum e)$ over the learned rewards of k, with
    $\hat\theta = (\tfrac{1}{2} c + \sum r) / (c + \sum e)$ over all of them and c pulls of prior.

    Examples
    --------
    >>> expectation = Expectation(2)
    >>> expectation.expected_reward(0, 0.8)
    0.4
    >>> expectation.learn(0, 0.8, 1.0)
    >>> expectation.expected_reward(0, 0.8) > expectation.expected_reward(1, 0.8) > 0.4
    True
    """

    def __init__(self, arms: int) -> None:
        self._rewards = np.zeros(arms)
        self._executions = np.zeros(arms)
        self._all_rewards = self._all_executions = 0.0

    def expected_reward(self, arm: int, execution: float) -> float:
        """The current expectation, in [0, 1]."""
        common = (0.5 * PRIOR + self._all_rewards) / (PRIOR + self._all_executions)
        rewards, executions = self._rewards.item(arm), self._executions.item(arm)
        return min(1.0, (PRIOR * common + rewards) / (PRIOR + executions) * execution)

    def learn(self, arm: int, execution: float, reward: float) -> None:
        """Learn a reward in [0, 1]."""
        self._rewards[arm] += reward
        self._executions[arm] += execution
        self._all_rewards += reward
        self._all_executions += execution
