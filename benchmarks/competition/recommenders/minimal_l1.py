"""Minimal weighted L1: the cheapest changes with the target score, when a feature's cost is its difficulty."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onward.agents.candidates.contract import Array, Indices
from onward.agents.candidates.recommenders.contract import Recommender, Task
from onward.agents.compiled import compiled


class MinimalL1(Recommender):
    r"""Makes the cost $\sum_i d_i |\Delta x_i|$ as small as the target score allows: a fractional knapsack.

    Each feature has one ratio of cost to gain, $d_i / w_i$. The cheapest plan fills the features in this order, each as
    far as it goes, until the gain is enough: exact. So it makes few, large changes. That is why it is not the plan
    that people carry out most often: see ``MaximalSuccess``.

    Parameters
    ----------
    difficulty
        $d$ (D,), the cost of a unit of change of each encoded column, above 0.

    Examples
    --------
    >>> people, gain, room = np.zeros((1, 2)), np.array([1.0, 2.0]), np.array([[1.0, 0.5]])
    >>> task = Task(people, np.array([1.5]), gain, np.ones(2), room, np.array([0.0]))
    >>> MinimalL1(np.array([1.0, 1.0])).changes(task)
    array([[0.5, 0.5]])
    >>> MinimalL1(np.array([0.1, 1.0])).changes(task)
    array([[1.  , 0.25]])

    References
    ----------
    Dantzig, G. B. (1957). Discrete-Variable Extremum Problems. Operations Research 5.
    Ceccon, M., Fabris, A., Radanovic, G., Biega, A. J. and Susto, G. A. (2025). Reinforcement Learning for Durable
    Algorithmic Recourse. arXiv 2509.22102. The cost is that of its table 1.
    """

    name: ClassVar[str] = "minimal_l1"

    def __init__(self, difficulty: Array) -> None:
        self._difficulty = np.asarray(difficulty, dtype=np.float64)

    def changes(self, task: Task) -> Array:
        """The cheapest changes, (n, D)."""
        with np.errstate(divide="ignore"):
            order = np.argsort(self._difficulty / task.gain, kind="stable")
        changes = np.zeros_like(task.room)
        fill_up(task.missing, task.gain, task.room, order, changes)
        return changes

    def price(self, task: Task, changes: Array) -> Array:
        """The cost of each change, (n, D)."""
        return changes * self._difficulty


@compiled
def fill_up(missing: Array, gain: Array, room: Array, order: Indices, changes: Array) -> None:
    """Write each row's changes to ``changes`` (n, D), feature by feature in this order."""
    for i in range(len(missing)):
        rest = missing[i]
        for d in order:
            if rest <= 0.0:
                break
            if room[i, d] > 0.0:
                changes[i, d] = min(room[i, d], rest / gain[d])
                rest -= gain[d] * changes[i, d]
