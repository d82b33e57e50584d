"""Maximal success: the changes with the target score that a person most probably carries out, all of them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...costs.attainability import attainability, success_probability
from ..contract import Array
from .contract import Recommender, Task
from .joint_success import plan_people


class MaximalSuccess(Recommender):
    r"""Maximises the joint probability of success, $\sum_i \log p_i$, where the changes together gain enough.

    A changed feature succeeds with $p_i = 1 - \exp(-\theta_i a_i)$ (eq 8) and attainability
    $a_i = 1 / (|x'_i - x_i| x'_i) - 1$ (eq 7), independently of the others. The cost $\sum_i d_i |\Delta x_i|$ is least
    with few large changes, which fail; joint success is largest with many small ones.

    $-\log p_i$ is convex in the change while $p_i$ is above about .8. Beyond, a feature may be better changed all the
    way. So what is lacking is cut into equal units, which dynamic programming shares out among the features, and units
    are halved until it does not matter any more (``joint_success.py``).

    By eq 7 a change downwards succeeds more easily the nearer it ends to 0, and always at 0. A plan may then gain more
    than is missing.

    Parameters
    ----------
    theta
        $\theta = \beta / d$ (D,), how easily each encoded column changes, above 0: known, or learned
        (``DifficultyPosterior``).

    Examples
    --------
    >>> people, gain, room = np.full((1, 2), 0.4), np.array([2.0, 2.0]), np.full((1, 2), 0.6)
    >>> task = Task(people, np.array([0.2]), gain, np.ones(2), room, np.array([0.0]))
    >>> MaximalSuccess(np.array([0.1, 0.1])).changes(task).round(3)
    array([[0.05, 0.05]])
    >>> MaximalSuccess(np.array([0.1, 0.02])).changes(task).round(3)
    array([[0.09, 0.01]])

    References
    ----------
    Ceccon, M., Fabris, A., Radanovic, G., Biega, A. J. and Susto, G. A. (2025). Reinforcement Learning for Durable
    Algorithmic Recourse. arXiv 2509.22102. Equations 7 and 8.
    """

    name: ClassVar[str] = "maximal_success"

    def __init__(self, theta: Array) -> None:
        self._theta = np.ascontiguousarray(theta, dtype=np.float64)

    def changes(self, task: Task) -> Array:
        """The changes most probable to succeed together, (n, D)."""
        changes = np.zeros_like(task.room)
        model = (task.sign, self._theta, task.gain)
        plan_people(task.missing, np.ascontiguousarray(task.people), np.ascontiguousarray(task.room), model, changes)
        return changes

    def price(self, task: Task, changes: Array) -> Array:
        """The negative log probability of each change, (n, D)."""
        targets = np.clip(task.targets(changes), 0.0, 1.0)
        with np.errstate(divide="ignore"):
            return -np.log(success_probability(attainability(task.people, targets), self._theta))
