"""Phi: a learned policy as a recommender. Torch trains it (``phi_training.py``), plain arrays run it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from onward.agents.actor import Actor, Arrays
from onward.agents.candidates.contract import Array
from onward.agents.candidates.recommenders.contract import Recommender, Task, gained
from onward.agents.sigmoid import LARGEST_ODDS, bounded_sigmoid

MOST_STEP = 0.1
"""The largest change of a feature in one step of the policy, in the direction that raises the score or back."""
STEPS = 10
"""Steps of the policy for one plan, at most (the paper's)."""
GAP_SCALE = 0.25
"""Of the missing log odds in a policy's input, so that all inputs are of one size."""


class Phi(Recommender):
    r"""The recommender $\phi$ of the paper: a policy that changes a person step by step until the score is near.

    It sees the person, the target and what is missing, and proposes a change of all features at once, at most 10 times,
    until the error of the score is at most ``tolerance``. It never saw the weights of the score: it learned from errors
    and costs. Its plans miss the target by up to the tolerance or more; ``reached`` says which do not fall short.
    No feature goes beyond the person's own value in the direction that lowers the score.

    Parameters
    ----------
    arrays
        Those of its ``Actor``.
    difficulty
        $d$ (D,), by which it was trained to keep the cost low.
    tolerance
        $\epsilon$ of the paper.

    References
    ----------
    Haarnoja, T., Zhou, A., Abbeel, P. and Levine, S. (2018). Soft Actor-Critic. ICML.
    Ceccon, M., Fabris, A., Radanovic, G., Biega, A. J. and Susto, G. A. (2025). Reinforcement Learning for Durable
    Algorithmic Recourse. arXiv 2509.22102.
    """

    name: ClassVar[str] = "phi"

    def __init__(self, arrays: Arrays, difficulty: Array, tolerance: float = 0.01) -> None:
        self._actor = Actor(arrays)
        self._difficulty, self._tolerance = np.asarray(difficulty, dtype=np.float64), tolerance

    def changes(self, task: Task) -> Array:
        """The changes, (n, D), after the policy's steps."""
        found, target = np.zeros_like(task.room), bounded_sigmoid(task.required, LARGEST_ODDS)
        for _ in range(STEPS):
            missing = task.missing - gained(found, task.gain)
            going = np.abs(bounded_sigmoid(task.required - missing, LARGEST_ODDS) - target) > self._tolerance
            if not going.any():
                break
            step = MOST_STEP * self._actor(inputs(task.targets(found), target, missing))
            found = np.where(going[:, np.newaxis], np.clip(found + step, 0.0, task.room), found)
        return found

    def price(self, task: Task, changes: Array) -> Array:
        """The cost of each change, (n, D)."""
        return changes * self._difficulty


def inputs(people: Array, target: Array, missing: Array) -> Array:
    """What the policy sees, (n, D + 2): the person, the target score, and what is missing in log odds."""
    return np.concatenate([people, target[:, np.newaxis], GAP_SCALE * missing[:, np.newaxis]], axis=1)
