"""Minimal L2: the nearest point with the target score."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onward.agents.candidates.contract import Array
from onward.agents.candidates.recommenders.contract import Recommender, Task
from onward.agents.compiled import compiled


class MinimalL2(Recommender):
    r"""The projection on the hyperplane of the target score, within a person's bounds.

    It makes $\sum_i c_i^2$ of the changes $c$ (of encoded columns, each scaled to [0, 1]) as small as the gain
    $\sum_i w_i c_i = r$ allows. With the dual variable $\lambda$ of that equation $c_i = \min(\lambda w_i, R_i)$, where
    $R_i$ is the room. $\lambda$ is found exactly in at most D passes: features whose room ends below it are fixed
    there, and the others share the rest. What the paper calls Ustun behaves like this method.

    Every feature takes part, so plans change many features a little. Columns must be on one scale.

    Examples
    --------
    >>> people, gain, room = np.zeros((1, 2)), np.array([1.0, 2.0]), np.array([[1.0, 0.25]])
    >>> task = Task(people, np.array([1.5]), gain, np.ones(2), room, np.array([0.0]))
    >>> MinimalL2().changes(task)
    array([[1.  , 0.25]])
    >>> MinimalL2().changes(task._replace(room=np.ones((1, 2))))
    array([[0.3, 0.6]])

    References
    ----------
    Ustun, B., Spangher, A. and Liu, Y. (2019). Actionable Recourse in Linear Classification. FAT*.
    Ceccon, M., Fabris, A., Radanovic, G., Biega, A. J. and Susto, G. A. (2025). Reinforcement Learning for Durable
    Algorithmic Recourse. arXiv 2509.22102.
    """

    name: ClassVar[str] = "minimal_l2"

    def changes(self, task: Task) -> Array:
        """The nearest changes, (n, D)."""
        changes = np.zeros_like(task.room)
        project(task.missing, task.gain, task.room, changes)
        return changes

    def price(self, task: Task, changes: Array) -> Array:
        """The squared changes, (n, D)."""
        return changes * changes


@compiled
def project(missing: Array, gain: Array, room: Array, changes: Array) -> None:
    """Write each row's nearest changes to ``changes`` (n, D)."""
    for i in range(len(missing)):
        rest, square, fixed = missing[i], 0.0, True
        for d in range(len(gain)):
            if room[i, d] > 0.0:
                square += gain[d] * gain[d]
        while fixed and square > 0.0:
            fixed, multiplier = False, rest / square
            # The multiplier only rises, so what is fixed stays so.
            for d in range(len(gain)):
                if changes[i, d] == 0.0 and room[i, d] > 0.0 and multiplier * gain[d] >= room[i, d]:
                    changes[i, d], fixed = room[i, d], True
                    rest -= gain[d] * room[i, d]
                    square -= gain[d] * gain[d]
            if not fixed:
                for d in range(len(gain)):
                    if changes[i, d] == 0.0 and room[i, d] > 0.0:
                        changes[i, d] = multiplier * gain[d]
